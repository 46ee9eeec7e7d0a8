// The whole path: a DMA channel and the Psram controller that it feeds.
module dma_psram #(
`include "psram_parameters.svh"
    ,
    parameter int BOUNDARY_BYTES = 0,
    parameter int MAX_BURST_BYTES = 0,
    parameter int SETUP_CLOCKS = 16,
    parameter int WORD_BYTES = DQ_BITS < 8 ? 1 : DQ_BITS / 8  // derived, leave it alone
) (
    input logic clk,
    input logic reset,

    input logic valid,
    output logic ready,
    input logic to_psram,
    input logic [31:0] source,
    input logic [31:0] destination,
    input logic [31:0] length,
    output logic done,

    output logic [31:0] sram_address,
    output logic [WORD_BYTES-1:0] sram_write,
    output logic [8*WORD_BYTES-1:0] sram_write_word,
    input logic [8*WORD_BYTES-1:0] sram_read_word,

    output logic ce_n,
    output logic ck_enable,
    output logic [DQ_BITS-1:0] dq_out,
    output logic dq_drive,
    output logic [WORD_BYTES-1:0] mask,
    input logic [DQ_BITS-1:0] dq_in,
    input logic collided
);
  logic start;
  logic write;
  logic [31:0] psram_address;
  logic [31:0] bytes;
  logic finished;
  logic [8*WORD_BYTES-1:0] tx_word;
  logic tx_next;
  logic rx_valid;
  logic [8*WORD_BYTES-1:0] rx_word;
  logic [WORD_BYTES-1:0] rx_keep;

  dma_channel #(
      .WORD_BYTES  (WORD_BYTES),
      .SETUP_CLOCKS(SETUP_CLOCKS)
  ) channel (
      .clk(clk),
      .reset(reset),
      .valid(valid),
      .ready(ready),
      .to_psram(to_psram),
      .source(source),
      .destination(destination),
      .length(length),
      .done(done),
      .start(start),
      .write(write),
      .psram_address(psram_address),
      .bytes(bytes),
      .finished(finished),
      .tx_word(tx_word),
      .tx_next(tx_next),
      .rx_valid(rx_valid),
      .rx_word(rx_word),
      .rx_keep(rx_keep),
      .sram_address(sram_address),
      .sram_write(sram_write),
      .sram_write_word(sram_write_word),
      .sram_read_word(sram_read_word)
  );

  psram_controller #(
`include "psram_parameters_passed.svh"
      ,
      .BOUNDARY_BYTES (BOUNDARY_BYTES),
      .MAX_BURST_BYTES(MAX_BURST_BYTES)
  ) controller (
      .clk(clk),
      .reset(reset),
      .start(start),
      .write(write),
      .address(psram_address),
      .bytes(bytes),
      .finished(finished),
      .tx_word(tx_word),
      .tx_next(tx_next),
      .rx_valid(rx_valid),
      .rx_word(rx_word),
      .rx_keep(rx_keep),
      .ce_n(ce_n),
      .ck_enable(ck_enable),
      .dq_out(dq_out),
      .dq_drive(dq_drive),
      .mask(mask),
      .dq_in(dq_in),
      .collided(collided)
  );
endmodule
