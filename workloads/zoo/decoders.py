"""Encoders with a decoder loop: each iteration makes one word, with the same weights and a carried state.

``lstm_decoder`` is Show and Tell (Vinyals, Toshev, Bengio, Erhan 2015, arXiv:1411.4555): GoogLeNet without
its classifier, its 1024 features embedded as the LSTM's first input, then one word per iteration. 512 units
and embeddings are the paper's; 12,000 words are those of its release (im2txt, configuration.py).

``gru_decoder`` is the RNN Encoder-Decoder (Cho et al. 2014, arXiv:1406.1078): 1000 gated units, embeddings of
100, 15,000 words, and a maxout layer of 500 units before an output matrix of rank 100 (section 4.1 and
appendix A). GRUs have one bias per gate row, which the paper omits.

Both decode greedily, without a beam search. The lengths of sentences are not published: ``lengths`` in
``control_flow`` is assumed, and a note in each program says so.
"""

from __future__ import annotations

from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, hand_over, pick
from workloads.build.shapes import Value
from workloads.zoo.control_flow import copy_to, lengths, look_up, most_likely, recurrent_cell, step
from workloads.zoo.layered import begun
from workloads.zoo.layers import concat

ASSUMED_LENGTHS = "the lengths of sentences, and so the probabilities of iterations, are assumed"
GRU_EMBEDDING, GRU_MAXOUT = 100, 500
"""Sizes of the embedding and of the maxout layer (Cho et al. 2014, appendix A)."""


def lstm_decoder(net: ProgramBuilder, *, size: int, units: int, words: int, steps: int) -> None:
    """Inputs: ``input``, an image, and ``start``, the first word. Output: ``sentence``, indices of words."""
    net.notes.append(ASSUMED_LENGTHS)
    features = begun(net, "classic.googlenet", "=features", {"input": size, "kernel": 5}).now
    seen = net.pool("avgpool", features, None, kind="average_pool")
    embedded = net.dense("image_embedding", net.flatten(seen), units)
    cell = recurrent_cell(net, "lstm", "lstm", units, units)
    table = net.weight("words", words * units)
    first = step(net, "lstm.image", cell, embedded, ())
    h, c = (copy_to(net, f"{n}.first", v, n) for n, v in zip(("state", "cell"), first, strict=True))
    sentence, word = _sentence(net, steps)
    with net.block() as body:
        x = look_up(net, "word_embedding", word, table, units)
        new_h, new_c = step(net, "lstm", cell, x, (h, c))
        found = most_likely(net, "best", net.dense("logits", new_h, words))
        collect(net, "sentence.collect", found, sentence, steps)
        hand_over(net, "decode", {"state": new_h, "cell": new_c, "word": found})
    net.add_loop("decode", steps, body, ("state", "cell", "word", "sentence"), lengths(steps))
    net.output(sentence)


def gru_decoder(net: ProgramBuilder, *, units: int, words: int, steps: int) -> None:
    """Inputs: ``source``, indices of words, and ``start``. Output: ``sentence``, indices of words."""
    net.notes.append(ASSUMED_LENGTHS)
    source = net.input("source", (steps, 1), "int32")
    context = _encode(net, source, units, words)
    state = net.dense("state.first", context, units, outputs=["state"])
    sentence, word = _sentence(net, steps)
    table = net.weight("target_words", words * GRU_EMBEDDING)
    cell = recurrent_cell(net, "gru", "gru", GRU_EMBEDDING + units, units)
    with net.block() as body:
        y = look_up(net, "word_embedding", word, table, GRU_EMBEDDING)
        x = concat(net, "decoder_input", [y, context])
        new = step(net, "gru", cell, x, [state])[0]
        both = concat(net, "deep_output_input", [new, x])
        deep = net.dense("deep_output", both, 2 * GRU_MAXOUT)
        most = net.vector("maxout", "maxout", [deep], (1, GRU_MAXOUT), rows=1)
        low = net.dense("output_left", most, GRU_EMBEDDING, bias=False)
        found = most_likely(net, "best", net.dense("logits", low, words, bias=False))
        collect(net, "sentence.collect", found, sentence, steps)
        hand_over(net, "decode", {"state": new, "word": found})
    net.add_loop("decode", steps, body, ("state", "word", "sentence"), lengths(steps))
    net.output(sentence)


def _encode(net: ProgramBuilder, source: Value, units: int, words: int) -> Value:
    """The summary of the source sentence: one GRU step per word, then a dense layer."""
    steps = source.shape[0]
    table = net.weight("source_words", words * GRU_EMBEDDING)
    cell = recurrent_cell(net, "encoder_gru", "gru", GRU_EMBEDDING, units)
    zero = net.input("encoder_state.before", (1, units))
    state = copy_to(net, "encoder_state.first", zero, "encoder_state")
    with net.block() as body:
        token = pick(net, "source_word", source, steps, (1,))
        x = look_up(net, "source_embedding", token, table, GRU_EMBEDDING)
        new = step(net, "encoder_gru", cell, x, [state])[0]
        hand_over(net, "encode", {"encoder_state": new})
    net.add_loop("encode", steps, body, ["encoder_state"], lengths(steps))
    return net.dense("context", state, units)


def _sentence(net: ProgramBuilder, steps: int) -> tuple[Value, Value]:
    """Allocate the sentence that the loop fills, and set the word that its first iteration reads."""
    start = net.input("start", (1,), "int32")
    sentence = allocate(net, "sentence.room", "sentence", (steps, 1), "int32")
    return sentence, copy_to(net, "word.first", start, "word")
