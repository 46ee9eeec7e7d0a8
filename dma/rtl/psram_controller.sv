// Cuts a transfer into legal bursts (the rules of dma/split.py) and drives them one at a time.
//
// The bus side is that of a PHY: `dq_out` and `dq_in` hold all bits of one clock, at double rate the
// rising edge's in the lower half. Words are the bytes that always travel together; byte 0 of a word
// has the lowest address. CE# falls two clocks after `start`; `finished` is high in the last clock of
// CE# high after the last burst (of an empty transfer: in the clock after `start`).
module psram_controller #(
`include "psram_parameters.svh"
    ,
    parameter int BOUNDARY_BYTES = 0,   // where every burst ends, a power of two; 0: nowhere
    parameter int MAX_BURST_BYTES = 0,  // 0: no limit
    parameter int WORD_BYTES = DQ_BITS < 8 ? 1 : DQ_BITS / 8  // derived, leave it alone
) (
    input logic clk,
    input logic reset,

    input logic start,
    input logic write,
    input logic [31:0] address,
    input logic [31:0] bytes,
    output logic finished,

    input logic [8*WORD_BYTES-1:0] tx_word,
    output logic tx_next,  // tx_word is taken, the next one is due in the next clock
    output logic rx_valid,
    output logic [8*WORD_BYTES-1:0] rx_word,
    output logic [WORD_BYTES-1:0] rx_keep,  // the bytes of rx_word that belong to the transfer

    output logic ce_n,
    output logic ck_enable,
    output logic [DQ_BITS-1:0] dq_out,
    output logic dq_drive,
    output logic [WORD_BYTES-1:0] mask,  // bytes of the word that a write leaves alone
    input logic [DQ_BITS-1:0] dq_in,
    input logic collided  // the device meets a refresh; looked at in the last clock but one of the address
);
  localparam int WORD_SHIFT = $clog2(WORD_BYTES);
  localparam int WORD_BITS = 8 * WORD_BYTES;
  localparam int WORD_CLOCKS = WORD_BITS / DQ_BITS;
  localparam int HEADER_BITS = 48;
  localparam int HEADER_CLOCKS = COMMAND_CLOCKS + ADDRESS_CLOCKS;

  function automatic int smaller(int a, int b);
    smaller = a < b ? a : b;
  endfunction

  // Clocks of CE# low before the data.
  function automatic int lead_clocks(int latency);
    lead_clocks = CE_SETUP_CLOCKS + HEADER_CLOCKS + (latency > OVERLAP_CLOCKS ? latency - OVERLAP_CLOCKS : 0);
  endfunction

  localparam int READ_LEAD = lead_clocks(READ_LATENCY);
  localparam int READ_LEAD_COLLIDED = lead_clocks(READ_LATENCY_COLLIDED);
  localparam int WRITE_LEAD = lead_clocks(WRITE_LATENCY);
  localparam int WRITE_LEAD_COLLIDED = lead_clocks(WRITE_LATENCY_COLLIDED);

  // The most words of one burst; the burst's length is fixed before it is known whether it collides.
  localparam int UNLIMITED = 1 << 28;
  localparam int BUS_LIMIT = MAX_BURST_BYTES == 0 ? UNLIMITED : MAX_BURST_BYTES / WORD_BYTES;
  function automatic int limit_words(int longest_lead);
    limit_words = CE_LOW_MAX == 0 ? BUS_LIMIT
        : smaller(BUS_LIMIT, (CE_LOW_MAX - longest_lead - CE_HOLD_CLOCKS) / WORD_CLOCKS);
  endfunction

  // Words between two walls.
  function automatic int wall_words(bit crosses);
    wall_words = crosses && BOUNDARY_BYTES == 0 ? UNLIMITED
        : crosses ? BOUNDARY_BYTES / WORD_BYTES
        : BOUNDARY_BYTES == 0 ? PAGE_BYTES / WORD_BYTES
        : smaller(PAGE_BYTES, BOUNDARY_BYTES) / WORD_BYTES;
  endfunction

  localparam int READ_LIMIT = limit_words(READ_LEAD_COLLIDED);
  localparam int WRITE_LIMIT = limit_words(WRITE_LEAD_COLLIDED);
  localparam int READ_WALL = wall_words(READS_CROSS);
  localparam int WRITE_WALL = wall_words(WRITES_CROSS);

`ifndef SYNTHESIS
  initial begin
    if (READ_LIMIT < 1 || WRITE_LIMIT < 1) $fatal(1, "not even one word fits into a burst");
    if ((READ_WALL & (READ_WALL - 1)) != 0 || (WRITE_WALL & (WRITE_WALL - 1)) != 0)
      $fatal(1, "page and boundary must be powers of two");
    if (READ_LATENCY_COLLIDED < READ_LATENCY || WRITE_LATENCY_COLLIDED < WRITE_LATENCY)
      $fatal(1, "a collision never shortens an access");
    if (HEADER_CLOCKS < 3 || CE_HIGH_MIN < 1) $fatal(1, "too few clocks of address or of CE# high");
  end
`endif

  typedef enum logic [2:0] {
    IDLE,
    HIGH,
    LEAD,
    DATA,
    HOLD
  } state_t;

  state_t state;
  logic writing;
  logic [31:0] place;  // the next word's address, in words
  logic [31:0] words;  // left of the transfer
  logic [31:0] burst;  // left of the burst
  logic [15:0] count;  // clocks in this state
  logic [15:0] high_left;
  logic [15:0] lead;
  logic met_refresh;
  logic first;
  logic [WORD_BYTES-1:0] first_keep;
  logic [WORD_BYTES-1:0] last_keep;
  logic [HEADER_BITS-1:0] header;
  logic [WORD_BITS-1:0] shift;

  // Where the next burst would end: at its limit, at the wall, with the transfer.
  logic [31:0] limit;
  logic [31:0] to_wall;
  logic [31:0] room;
  logic [31:0] cut;
  assign limit = writing ? WRITE_LIMIT : READ_LIMIT;
  assign to_wall = writing ? WRITE_WALL - (place & (WRITE_WALL - 1)) : READ_WALL - (place & (READ_WALL - 1));
  assign room = limit < to_wall ? limit : to_wall;
  assign cut = words < room ? words : room;

  // Command and address of that burst, the first bit on top.
  logic [31:0] place_bytes;
  logic [7:0] opcode;
  logic [HEADER_BITS-1:0] next_header;
  assign place_bytes = place << WORD_SHIFT;
  assign opcode = writing ? WRITE_OPCODE : READ_OPCODE;
  generate
    if (HYPERBUS) begin : g_hyperbus
      // Read, memory space, linear burst; the address counts words of 16 bits.
      assign next_header = {!writing, 1'b0, 1'b1, 1'b0, place_bytes[31:4], 13'b0, place_bytes[3:1]};
    end else if (ADDRESS_LANES == 16) begin : g_double_rate
      assign next_header = {opcode, opcode, place_bytes};
    end else begin : g_serial
      assign next_header = {opcode, place_bytes[23:0], 16'b0};
    end
  endgenerate

  logic last_high;
  logic in_header;
  logic in_command;
  logic last_clock;  // of a word
  logic last_word;   // of the transfer
  assign last_high = state == HIGH && high_left == 1;
  assign in_header = state == LEAD && count >= CE_SETUP_CLOCKS && count < CE_SETUP_CLOCKS + HEADER_CLOCKS;
  assign in_command = count < CE_SETUP_CLOCKS + COMMAND_CLOCKS;
  assign last_clock = state == DATA && count == WORD_CLOCKS - 1;
  assign last_word = words == 1;
  assign lead = writing ? (met_refresh ? WRITE_LEAD_COLLIDED : WRITE_LEAD)
                        : (met_refresh ? READ_LEAD_COLLIDED : READ_LEAD);
  assign finished = last_high && words == 0;

  logic [31:0] skip;
  logic [31:0] moved;
  assign skip = address & (WORD_BYTES - 1);
  assign moved = bytes == 0 ? 0 : skip + bytes;

  always_ff @(posedge clk) begin
    rx_valid <= 0;
    if (reset) begin
      state <= IDLE;
      ce_n <= 1;
    end else begin
      case (state)
        IDLE:
        if (start) begin
          writing <= write;
          place <= address >> WORD_SHIFT;
          words <= (moved + WORD_BYTES - 1) >> WORD_SHIFT;
          first <= 1;
          first_keep <= {WORD_BYTES{1'b1}} << skip;
          last_keep <= {WORD_BYTES{1'b1}} >> ((0 - moved) & (WORD_BYTES - 1));
          high_left <= 1;
          state <= HIGH;
        end
        HIGH:
        if (!last_high) high_left <= high_left - 1;
        else if (words == 0) state <= IDLE;
        else begin
          ce_n <= 0;
          burst <= cut;
          header <= next_header;
          met_refresh <= 0;
          count <= 0;
          state <= LEAD;
        end
        LEAD: begin
          count <= count + 1;
          if (in_header) header <= header << (in_command ? COMMAND_LANES : ADDRESS_LANES);
          if (count == CE_SETUP_CLOCKS + HEADER_CLOCKS - 2) met_refresh <= collided;
          if (count == lead - 1) begin
            count <= 0;
            state <= DATA;
          end
        end
        DATA: begin
          count <= count + 1;
          shift <= writing ? (count == 0 ? tx_word : shift) << DQ_BITS : (shift << DQ_BITS) | dq_in;
          if (last_clock) begin
            count <= 0;
            first <= 0;
            place <= place + 1;
            words <= words - 1;
            burst <= burst - 1;
            rx_valid <= !writing;
            rx_keep <= ~mask;
            if (burst == 1) begin
              ce_n <= CE_HOLD_CLOCKS == 0;
              high_left <= CE_HIGH_MIN;
              if (CE_HOLD_CLOCKS == 0) state <= HIGH;
              else state <= HOLD;
            end
          end
        end
        HOLD: begin
          count <= count + 1;
          if (count == CE_HOLD_CLOCKS - 1) begin
            ce_n <= 1;
            state <= HIGH;
          end
        end
        default: state <= IDLE;
      endcase
    end
  end

  assign rx_word = shift;  // complete while rx_valid
  assign tx_next = state == DATA && writing && count == 0;
  assign ck_enable = (state == LEAD && count >= CE_SETUP_CLOCKS) || state == DATA;
  assign dq_drive = in_header || (state == DATA && writing);
  assign mask = ~((first ? first_keep : {WORD_BYTES{1'b1}}) & (last_word ? last_keep : {WORD_BYTES{1'b1}}));

  // The header goes over the lower lanes; at double rate a byte an edge.
  logic [HEADER_BITS-1:0] header_lanes;
  logic [WORD_BITS-1:0] data_lanes;
  assign header_lanes = ADDRESS_LANES == 16 ? (header[39:32] << (DQ_BITS / 2)) | header[47:40]
      : header >> (HEADER_BITS - (in_command ? COMMAND_LANES : ADDRESS_LANES));
  assign data_lanes = (count == 0 ? tx_word : shift) >> (WORD_BITS - DQ_BITS);
  assign dq_out = state == LEAD ? header_lanes[DQ_BITS-1:0] : data_lanes[DQ_BITS-1:0];
endmodule
