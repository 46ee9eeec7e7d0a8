// One DMA channel: takes a descriptor, spends the set-up clocks, and moves the words of the transfer
// between the Psram controller and a port of the on-chip SRAM.
//
// A descriptor is accepted in the clock in which `valid` and `ready` are high; with SETUP_CLOCKS = s and
// acceptance in clock t, CE# falls in clock t + s. `done` is high for one clock, the first in which the
// next descriptor can be accepted. The SRAM port is this channel's own: it takes any byte address
// (byte-interleaved banks), writes the enabled bytes, and gives the word read in the next clock.
module dma_channel #(
    parameter int WORD_BYTES = 2,
    parameter int SETUP_CLOCKS = 16  // at least 3
) (
    input logic clk,
    input logic reset,

    input logic valid,
    output logic ready,
    input logic to_psram,  // else from Psram to SRAM
    input logic [31:0] source,
    input logic [31:0] destination,
    input logic [31:0] length,  // bytes
    output logic done,

    output logic start,
    output logic write,
    output logic [31:0] psram_address,
    output logic [31:0] bytes,
    input logic finished,
    output logic [8*WORD_BYTES-1:0] tx_word,
    input logic tx_next,
    input logic rx_valid,
    input logic [8*WORD_BYTES-1:0] rx_word,
    input logic [WORD_BYTES-1:0] rx_keep,

    output logic [31:0] sram_address,
    output logic [WORD_BYTES-1:0] sram_write,
    output logic [8*WORD_BYTES-1:0] sram_write_word,
    input logic [8*WORD_BYTES-1:0] sram_read_word
);
`ifndef SYNTHESIS
  initial if (SETUP_CLOCKS < 3) $fatal(1, "a descriptor takes at least 3 clocks");
`endif

  typedef enum logic [1:0] {
    IDLE,
    SETUP,
    MOVE
  } state_t;

  state_t state;
  logic [15:0] left;
  logic [31:0] pointer;  // in SRAM, of the word under way
  logic [31:0] psram_start;
  logic [31:0] sram_start;

  assign ready = state == IDLE;
  assign start = state == SETUP && left == 1;
  assign psram_start = to_psram ? destination : source;
  assign sram_start = to_psram ? source : destination;

  always_ff @(posedge clk) begin
    done <= 0;
    if (reset) state <= IDLE;
    else begin
      case (state)
        IDLE:
        if (valid) begin
          write <= to_psram;
          psram_address <= psram_start;
          // Words count from the Psram's: the first may begin before the transfer.
          pointer <= sram_start - (psram_start & (WORD_BYTES - 1));
          bytes <= length;
          left <= SETUP_CLOCKS - 2;
          state <= SETUP;
        end
        SETUP: begin
          left <= left - 1;
          if (start) state <= MOVE;
        end
        MOVE: begin
          if (tx_next || rx_valid) pointer <= pointer + WORD_BYTES;
          done <= finished;
          if (finished) state <= IDLE;
        end
        default: state <= IDLE;
      endcase
    end
  end

  // The SRAM needs a clock, so the next word is asked for in the clock that takes the one before.
  assign sram_address = pointer + (tx_next ? WORD_BYTES : 0);
  assign sram_write = rx_valid ? rx_keep : 0;
  assign sram_write_word = rx_word;
  assign tx_word = sram_read_word;
endmodule
