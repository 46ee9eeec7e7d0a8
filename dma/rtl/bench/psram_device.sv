// Behavioural Psram for the bench, not for synthesis: decodes command and address from the pins, stores
// bytes, refreshes its array, and prints a line `PROTOCOL ...` for whatever breaks the device's rules.
//
// It keeps WINDOW_BYTES from BASE on; any other address breaks a rule. Outside its data clocks it
// drives x, so that a controller that samples too early or too late stores x.
module psram_device #(
`include "psram_parameters.svh"
    ,
    parameter int BASE = 0,
    parameter int WINDOW_BYTES = 16384,
    parameter bit ALWAYS_COLLIDES = 0,
    parameter int TICKS_PER_CLOCK = 1,   // the unit of the two below
    parameter int REFRESH_INTERVAL = 0,  // 0: no refresh that anybody could notice
    parameter int REFRESH_BUSY = 0,
    parameter int WORD_BYTES = DQ_BITS < 8 ? 1 : DQ_BITS / 8
) (
    input logic clk,
    input int clock,
    input logic ce_n,
    input logic ck_enable,
    input logic [DQ_BITS-1:0] dq_in,
    input logic dq_driven,
    input logic [WORD_BYTES-1:0] mask,
    output logic [DQ_BITS-1:0] dq_out,
    output logic collided
);
  localparam int WORD_CLOCKS = 8 * WORD_BYTES / DQ_BITS;
  localparam int HEADER = COMMAND_CLOCKS + ADDRESS_CLOCKS;

  logic [7:0] memory[0:WINDOW_BYTES-1];

  // Of the access under way, or of the last one.
  bit selected = 0;
  bit writing;
  bit hit;
  int pulses;         // clock pulses so far
  int low_since;
  int high_since = -1000000;
  int last_pulse;
  int data_from;      // the pulse of the first data
  int word;           // address of the word under way, an offset into the window
  int place;          // address of the first word
  int page;
  int stored;         // bytes
  int first_stored;   // the first one's address
  logic [47:0] header;
  logic [8*WORD_BYTES-1:0] data;
  int all_pulses = 0;

  // Refresh: one falls due on every multiple of its interval, and waits for CE# high.
  longint due = 0;
  longint busy_until = 0;
  bit pending = 0;

  task automatic broken(input string what);
    $display("PROTOCOL clock %0d: %0s", clock, what);
  endtask

  task automatic refresh;
    longint now;
    now = longint'(clock) * TICKS_PER_CLOCK;
    while (due <= now) begin
      if (selected) pending = 1;
      else busy_until = due + REFRESH_BUSY;
      due = due + REFRESH_INTERVAL;
    end
    if (selected && ce_n && pending) begin
      busy_until = now + REFRESH_BUSY;
      pending = 0;
    end
  endtask

  task automatic fall;
    hit = ALWAYS_COLLIDES || longint'(clock) * TICKS_PER_CLOCK < busy_until;
    if (clock - high_since < CE_HIGH_MIN) broken("CE# high is too short");
    selected = 1;
    low_since = clock;
    pulses = 0;
    header = 0;
    stored = 0;
  endtask

  task automatic rise;
    if (clock - last_pulse - 1 < CE_HOLD_CLOCKS) broken("CE# rises too soon after the last clock pulse");
    if (pulses <= data_from) broken("no data");
    else if ((pulses - data_from) % WORD_CLOCKS != 0) broken("CE# rises within a word");
    selected = 0;
    high_since = clock;
  endtask

  task automatic take_header;
    int lanes;
    int bit_place;
    if (!dq_driven || (^dq_in) === 1'bx) broken("command and address are not driven");
    lanes = pulses < COMMAND_CLOCKS ? COMMAND_LANES : ADDRESS_LANES;
    for (int i = 0; i < lanes; i++) begin
      // At double rate the rising edge's byte is in the lower half and comes first.
      bit_place = lanes == 16 ? (i < 8 ? 7 - i : DQ_BITS / 2 + 15 - i) : lanes - 1 - i;
      header = {header[46:0], dq_in[bit_place]};
    end
    if (pulses == HEADER - 1) decode();
  endtask

  task automatic decode;
    logic [7:0] opcode;
    int address;
    int latency;
    if (HYPERBUS) begin
      writing = !header[47];
      address = {header[43:16], header[2:0], 1'b0};
      if (header[46:45] != 2'b01) broken("not a linear burst in memory space");
    end else begin
      opcode  = ADDRESS_LANES == 16 ? header[47:40] : header[31:24];
      writing = opcode == WRITE_OPCODE;
      address = ADDRESS_LANES == 16 ? header[31:0] : header[23:0];
      if (opcode != WRITE_OPCODE && opcode != READ_OPCODE) broken("unknown command");
    end
    if (address % WORD_BYTES != 0) broken("the address is not that of a word");
    place = address;
    page = address / PAGE_BYTES;
    word = address - BASE;
    latency = writing ? (hit ? WRITE_LATENCY_COLLIDED : WRITE_LATENCY)
                             : (hit ? READ_LATENCY_COLLIDED : READ_LATENCY);
    data_from = HEADER + (latency > OVERLAP_CLOCKS ? latency - OVERLAP_CLOCKS : 0);
  endtask

  task automatic check_word;
    if (word < 0 || word + WORD_BYTES > WINDOW_BYTES) broken("an address outside the memory");
    if ((word + BASE) / PAGE_BYTES != page && !(writing ? WRITES_CROSS : READS_CROSS))
      broken("the burst crosses a page");
  endtask

  task automatic store;
    if (!dq_driven || (^dq_in) === 1'bx) broken("write data are not driven");
    data = (data << DQ_BITS) | dq_in;
    if ((pulses - data_from) % WORD_CLOCKS == WORD_CLOCKS - 1) begin
      check_word();
      for (int lane = 0; lane < WORD_BYTES; lane++)
        if (!mask[lane]) begin
          if (stored == 0) first_stored = BASE + word + lane;
          stored = stored + 1;
          memory[word+lane] = data[8*lane+:8];
        end
      word = word + WORD_BYTES;
    end
  endtask

  // What the pins show with the next clock pulse of a read.
  task automatic show;
    int part;
    part = (pulses - data_from) % WORD_CLOCKS;
    if (part == 0) begin
      for (int lane = 0; lane < WORD_BYTES; lane++) data[8*lane+:8] = memory[word+lane];
    end
    dq_out <= data >> (8 * WORD_BYTES - DQ_BITS * (part + 1));
  endtask

  task automatic pulse;
    if (pulses == 0 && clock - low_since < CE_SETUP_CLOCKS) broken("the first clock pulse is too soon");
    if (pulses < HEADER) take_header();
    else if (pulses >= data_from && writing) store();
    else if (dq_driven) broken("the controller drives the bus");
    else if (pulses >= data_from && (pulses - data_from) % WORD_CLOCKS == WORD_CLOCKS - 1) begin
      check_word();
      word = word + WORD_BYTES;
    end
    last_pulse = clock;
    pulses = pulses + 1;
    all_pulses = all_pulses + 1;
    dq_out <= 'x;
    if (pulses >= HEADER && pulses >= data_from && !writing) show();
  endtask

  always @(posedge clk) begin
    if (REFRESH_INTERVAL != 0) refresh();
    if (selected && ce_n) rise();
    if (!selected && !ce_n) fall();
    collided <= selected ? hit : 1'bx;
    if (ce_n && ck_enable) broken("a clock pulse without CE#");
    if (!ce_n) begin
      if (CE_LOW_MAX != 0 && clock - low_since == CE_LOW_MAX) broken("CE# low is too long");
      if (ck_enable) pulse();
    end
  end
endmodule
