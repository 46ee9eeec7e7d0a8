"""What each field of a chip file means, in a sentence: ``docs.tools.chip_files`` wants one for each."""

from __future__ import annotations

from collections.abc import Mapping

FURTHER_MEANING: Mapping[str, str] = {
    "bytes": "Size of a further memory, which the chip file calls NAME: lower-case letters, digits, `_`.",
    "load.latency_cycles": "Core cycles of a transfer out of it before its first byte.",
    "load.bytes_per_cycle": "Bytes of such a transfer that pass in a core cycle.",
    "load.pj_per_byte": "Energy of such a byte; unknown unless given, as then that of a run is.",
    "store.latency_cycles": "Core cycles of a transfer into it before its first byte.",
    "store.bytes_per_cycle": "Bytes of such a transfer that pass in a core cycle.",
    "store.pj_per_byte": "Energy of such a byte, likewise.",
}
"""The same for the fields of each further memory."""
MEANING: Mapping[str, str] = {
    "core_mhz": "The core's clock, in which cycles are counted.",
    "cores": "Cores, each with an NPU and a SharedMemory of its own.",
    "shared_memory.bytes": "What the planner may use of the on-chip SRAM (of each core).",
    "shared_memory.alignment": "Every offset is a multiple of this.",
    "shared_memory.model": "`flat`: no access waits. `banks`: accesses of one bank in one cycle collide.",
    "shared_memory.banks.count": "Number of banks.",
    "shared_memory.banks.word_bytes": "Bytes that a bank serves in one access.",
    "shared_memory.banks.interleave": "`words`: neighbouring words lie in neighbouring banks. "
    "`blocks`: each bank has one range of addresses.",
    "shared_memory.banks.ports": "Accesses that a bank serves in a cycle.",
    "shared_memory.banks.arbitration": "Which of the NPU and the DMA engine goes first; the CPU always does.",
    "weights.memory": "The memory that holds the weights from the start: the Psram, or one of their own.",
    "weights.bytes": "Its size.",
    "weights.clock_mhz": "Its clock.",
    "weights.bytes_per_clock": "Bytes that it gives with each clock.",
    "weights.setup_cycles": "What starting a transfer from it costs.",
    "weights.burst_bytes": "A transfer is cut into bursts of so many bytes.",
    "weights.burst_overhead_clocks": "What each of these bursts costs besides its data.",
    "weights.in_place": "Whether ops read weights where they lie, not from SharedMemory: `no`; `allowed`: "
    "those for which the planner finds that faster; `always`: all. See *Weights read in place*.",
    "weights.in_place_bytes_per_cycle": "Bytes of weights that an op then reads in a core cycle; 0: at the "
    "rate of their memory.",
    "weights.in_place_latency_cycles": "Core cycles before the first weights of each part of an op.",
    "weights.bits_per_weight": "The most bits of a parameter as the chip's tool writes weights of up to a "
    "byte; 0: as in the network.",
    "weights.padded_channels": "The multiple to which it pads the input channels of dense convolutions and "
    "products.",
    "weights.bytes_per_channel": "Bytes that it adds for each output channel of an op: scales and shifts.",
    "psram.bytes": "Size of the Psram.",
    "psram.clock_mhz": "The Psram's clock.",
    "psram.bytes_per_clock": "Bytes that the bus moves in a Psram clock.",
    "psram.device": "The part, which knows its commands, latencies and limits.",
    "psram.collision": "Which bursts of a part with variable latency wait for a refresh: none, the expected "
    "share, all, or those that fall due in the simulation.",
    "psram.ce_low_max_us": "How long CE# may be low at most.",
    "psram.ce_high_ns": "How long CE# has to be high between two bursts.",
    "dma.model": "How a transfer's cycles are computed: see *The timing model*.",
    "dma.channels": "Transfers that are in service at once.",
    "dma.arbitration": "`in order`: the oldest transfer's bursts first. `round robin`: a burst of each.",
    "dma.strided": "Whether one transfer moves evenly spaced runs of bytes; `no`: a set-up for each run.",
    "dma.outstanding": "Bursts that are asked for at once, which hides what they cost besides their data.",
    "dma.port_bytes": "Bytes of a beat at the engine's port on SharedMemory.",
    "dma.load.setup_cycles": "What starting a load costs.",
    "dma.load.burst_bytes": "Bytes of a Psram burst of a load.",
    "dma.load.burst_overhead_clocks": "What a burst of a load costs besides its data.",
    "dma.store.setup_cycles": "What starting a store costs.",
    "dma.store.burst_bytes": "Bytes of a Psram burst of a store.",
    "dma.store.burst_overhead_clocks": "What a burst of a store costs besides its data.",
    "dma.bursts.setup_cycles": "What starting a transfer costs.",
    "dma.bursts.beat_bytes": "Bytes of a beat; a beat takes a cycle.",
    "dma.bursts.burst_beats": "Beats of the engine's longest burst.",
    "dma.bursts.gap_cycles": "Cycles between two bursts besides their beats.",
    "dma.bursts.prefetch_lines": "Lines that the Psram controller reads ahead of the one asked for.",
    "dma.bursts.crossing_clocks": "What an access costs between the two clock domains.",
    "dma.bursts.short_bytes": "Transfers of up to this size run at the engine's own pace.",
    "dma.bursts.overlap": "Whether a burst is read while the one before is written.",
    "dma.hyperbus.setup_cycles": "What starting a transfer costs.",
    "dma.hyperbus.latency_clocks": "The part's latency code.",
    "dma.hyperbus.latency_multiple": "2 where the latency is doubled, as during a refresh or in fixed mode.",
    "dma.hyperbus.max_burst_words": "Words of the longest CS# low.",
    "dma.hyperbus.request_beats": "Beats of the longest AXI burst that the DMA asks for.",
    "dma.hyperbus.bus_bytes": "Width of the AXI bus.",
    "dma.hyperbus.request_cycles": "From a valid address to the toggle that crosses the clock domains.",
    "dma.hyperbus.response_cycles": "From a word in the queue of the crossing to its beat on the bus.",
    "dma.hyperbus.turnaround_cycles": "From the last word in the queue to the toggle of the next request.",
    "dma.hyperbus.fixed_clocks": "What a read costs besides latency and words.",
    "dma.hyperbus.segment_clocks": "What a further CS# low of one request costs besides latency and words.",
    "dma.hyperbus.round_trip_ns": "From the clock at the part to its data back at the controller.",
    "dma.cdma.setup_cycles": "What starting a transfer costs.",
    "dma.cdma.data_bits": "Width of the AXI bus.",
    "dma.cdma.max_burst_beats": "Beats of the longest AXI burst.",
    "dma.cdma.boundary_bytes": "Where every AXI burst ends.",
    "dma.ef_psram.setup_cycles": "What starting a transfer costs.",
    "dma.ef_psram.read_mode": "Lines that commands, addresses and data of a read use.",
    "dma.ef_psram.write_mode": "The same for writes.",
    "dma.ef_psram.wait_clocks": "Clocks between the address and the data of a read.",
    "dma.ef_psram.access_bytes": "Bytes that are moved at a time.",
    "dma.ef_psram.clocks_per_sck": "Core cycles of a clock of the part.",
    "dma.ef_psram.frame_cycles": "What an access costs besides its clocks.",
    "dma.ef_psram.gap_cycles": "From the end of an access to the start of the next.",
    "npu.model": "`array`: MACs over MACs a cycle. `luna`: LUNA's own mechanism. "
    "`vector-cpu`: a CPU's kernels, instruction by instruction, and its data cache. `ethos-u55`: "
    "that of Arm's Ethos-U55, block by block; `ethos-u85` that of Ethos-U85. "
    "`ne16`: the subtiles of that engine of the PULP platform.",
    "npu.macs_per_cycle.int8": "Multiply-accumulates a cycle on 8-bit operands.",
    "npu.macs_per_cycle.int16": "The same on 16-bit operands, float16 included.",
    "npu.macs_per_cycle.int32": "The same on 32-bit operands, float32 included.",
    "npu.array.input_channels": "Input channels are padded to a multiple of this.",
    "npu.array.output_channels": "Output channels are padded to a multiple of this.",
    "npu.array.columns": "Columns are padded to a multiple of this (times the stride, on LUNA).",
    "npu.read_bytes_per_cycle": "The NPU's read port on SharedMemory.",
    "npu.write_bytes_per_cycle": "The NPU's write port on SharedMemory.",
    "npu.launch_cycles": "What starting each part of an op costs.",
    "npu.operands": "Whether the operands of convolutions, pooling and products take time on the ports: "
    "none (`free`), while computing (`overlap`), the same with reads and writes in turn (`one port`), all "
    "in turn (`serial`).",
    "npu.depthwise_kernel": "The largest depthwise kernel that one pass over the operands serves; 0: any.",
    "npu.tap_cycles": "What each tap of a kernel costs a CPU at each position besides its MACs: its channels "
    "are copied.",
    "npu.output_cycles": "What each output of convolutions and products costs besides its MACs: scaling it.",
    "npu.window_elements_per_cycle": "Elements of pooling windows a cycle; 0: through the array.",
    "npu.vector.kernels": "The library whose kernels run: ESP-DL's, or ESP-NN's as TensorFlow Lite Micro "
    "calls them.",
    "npu.vector.cores": "Cores that share the rows of a convolution, as ESP-DL's RUNTIME_MODE_MULTI_CORE.",
    "npu.vector.cache.bytes": "The data cache, through which weights and tensors are read.",
    "npu.vector.cache.ways": "Lines of a set of it; the least recently used one is dropped.",
    "npu.vector.cache.line_bytes": "Bytes of a line of it.",
    "npu.vector.weight_line_cycles": "What reading a line of weights again costs, because the cache has "
    "dropped it before the kernel came to it again; 0 for weights in memory without a cache.",
    "npu.vector.first_cache.bytes": "A smaller data cache in front of the other, which then holds operands "
    "from one op to the next. 0: there is none.",
    "npu.vector.first_cache.ways": "Lines of a set of it.",
    "npu.vector.first_cache.line_bytes": "Bytes of a line of it.",
    "npu.vector.first_cache.line_cycles": "What it takes to read a line from the other cache.",
    "npu.rolling_buffers": "Whether the NPU addresses rows modulo a buffer's size. If not, the rows that "
    "two stripes of a cascade need are computed twice.",
    "npu.luna.input_buffer_bytes": "A larger input is computed in pieces of rows.",
    "npu.luna.weight_buffer_bytes": "Larger weights are computed in passes of output channels.",
    "npu.luna.conv_configuration_cycles": "What configuring a pass of a convolution costs.",
    "npu.luna.depthwise_configuration_cycles": "What configuring a depthwise or pooling pass costs.",
    "npu.luna.matmul_configuration_cycles": "What configuring a matrix product costs.",
    "npu.luna.later_pass_saving_cycles": "What each pass after an op's first saves.",
    "npu.luna.piece_configuration_cycles": "What a piece of the input costs.",
    "npu.luna.piece_channel_cycles": "What an input channel of a piece costs.",
    "npu.ethos.micro_block.height": "Rows of the output that one step of the MAC array works on.",
    "npu.ethos.micro_block.width": "Columns of it.",
    "npu.ethos.micro_block.depth": "Channels of it.",
    "npu.ethos.cores": "MAC arrays that share each block: 2 of Ethos-U65-512, else 1.",
    "npu.ethos.shram.banks": "The NPU's own RAM for inputs and accumulators of a block, in KiB.",
    "npu.ethos.shram.input_granule_banks": "Inputs take a multiple of so many banks.",
    "npu.ethos.shram.accumulator_granule_banks": "Accumulators of 32 bits take a multiple of so many.",
    "npu.ethos.shram.wide_accumulator_granule_banks": "The same for 40 bits, where inputs have 16.",
    "npu.ethos.delay_cycles": "Between two steps of a block that is one micro-block wide and high.",
    "npu.ethos.wide_delay_cycles": "The same with accumulators of 40 bits.",
    "npu.ethos.output_cycles.plain": "What an output element of a convolution, a dense layer or average "
    "pooling costs in the output stage; also of element-wise work that is not named here.",
    "npu.ethos.output_cycles.max_pool": "The same for max pooling.",
    "npu.ethos.output_cycles.add": "The same for additions and subtractions.",
    "npu.ethos.output_cycles.multiply": "The same for products, and for accumulators of 40 bits.",
    "npu.ethos.output_cycles.wide": "The same for element-wise work of two operands on 32 bits.",
    "npu.ethos.output_cycles.wide_unary": "The same for one operand.",
    "npu.ethos.output_cycles.wide_multiply": "The same for products on 32 bits.",
    "npu.ethos.output_cycles.table": "The least where outputs pass a table, as of sigmoid and tanh.",
    "npu.ethos.border_blocks": "Whether a block at the border of the output takes what lies `inside`, or as "
    "long as a `whole` one, as in the estimate of Arm's compiler.",
    "npu.ethos.weights_on_port": "Whether weights that are read again for each block take time on the "
    "port to SRAM.",
    "npu.ethos.sram.read_latency_cycles": "From a read of SRAM to its data.",
    "npu.ethos.sram.write_latency_cycles": "The same for writes.",
    "npu.ethos.sram.bytes_per_cycle": "All ports to SRAM together; reads and writes have their own rates.",
    "npu.ethos.sram.burst_bytes": "Shorter accesses to SRAM take as long as this many bytes.",
    "npu.ne16.cluster_macs_per_cycle": "MACs a cycle of int8 work that the cores do for the engine.",
    "npu.ne16.cluster_output_cycles": "What each output of such work costs in addition.",
    "vendor.streamer": "The streamer whose loads overlap with computing as those of the chip's own tool do.",
    "vendor.cascades": "Whether that tool makes cascades.",
    "vendor.tensor_share": "The share of SharedMemory that tensors alive at once may take before that tool "
    "may move some of them out of it. It decides the class of networks whose error is printed, no cycles.",
    "vendor.pool_bytes": "Bytes of SharedMemory that the tool fills with tensors first; what is left is a "
    "second pool, and no tensor lies in both. 0: all of it is one pool.",
    "vendor.psram_byte_cycles": "What each byte of a tensor takes that has room in neither pool, and that "
    "the NPU reads or writes in Psram, all such tensors of an op at once. What only a pooling reads is "
    "pooled as it is made where it has no room. 0: tensors leave SharedMemory only as in other plans.",
    "vendor.run_cycles": "What the driver takes before the first op of a run by that tool.",
    "vendor.copy_cycles": "What each access takes with which a CPU copies channels that are shuffled, or "
    "that several concats read: of as many bytes as `shared_memory.alignment`, or of one where a piece has "
    "channels left over. 0: the NPU copies them.",
    "vendor.block_bytes": "Bytes of an operation's weights beyond which `sync` loads them in blocks of at "
    "most so many, each while the one before it computes. 0: all are loaded before it computes.",
    "vendor.kernel_rows": "Rows of the largest dense kernel that runs at once. One with more is computed in "
    "parts, whose sums of 16 bits take room in the pools, or lie in Psram; all are written at once, and read "
    "at once to be added up. 0: no such limit is known.",
    "cpu.cycles_per_element.broadcast": "Element-wise work on operands of different shapes, as the scaling "
    "of squeeze and excitation, on the CPU: what each output element costs. 0: the NPU does it.",
    "cpu.cycles_per_element.softmax": "The same for softmax.",
    "cpu.cycles_per_element.batch_norm": "The same for batch normalisation that is not folded into weights.",
    "cpu.shared_every_cycles": "The CPU takes a word of SharedMemory every so many cycles; 0 for never.",
    "cpu.psram_every_cycles": "The CPU takes a line of Psram every so many cycles; 0 for never.",
    "cpu.line_bytes": "Bytes of such a line.",
    "energy.model": "`unknown`: no energy is printed. `counted`: MACs, bytes, cycles and time, each with its "
    "energy.",
    "energy.volts": "The supply of the run; what is counted takes the square of its ratio to the next one.",
    "energy.nominal_volts": "The supply at which the numbers below hold.",
    "energy.static_mw": "Power for as long as the run lasts: leakage, and what else is always on.",
    "energy.pj.cycle": "Energy of a cycle of each core, whatever is done in it.",
    "energy.pj.npu_cycle": "Energy of a cycle in which the NPU computes; its launches are not counted.",
    "energy.pj.cpu_cycle": "Energy of a cycle in which a CPU computes what the NPU cannot.",
    "energy.pj.mac_int8": "Energy of a multiply-accumulate on operands of up to 8 bits.",
    "energy.pj.mac_int16": "The same with up to 16 bits.",
    "energy.pj.mac_int32": "The same with more bits.",
    "energy.pj.weight_byte": "Energy of a byte of weights that is loaded, or read where it lies.",
    "energy.pj.loaded_byte": "Energy of a byte of a tensor that it loads.",
    "energy.pj.stored_byte": "Energy of a byte of a tensor that it stores.",
    "energy.pj.read_byte": "Energy of a byte of an operand that the NPU reads in SharedMemory, once for each "
    "part of an op.",
    "energy.pj.written_byte": "The same of what it writes.",
}
