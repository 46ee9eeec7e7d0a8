// Runs the transfers of a file through dma_psram and the device, and prints what it sees on the pins:
//   BURST address bytes start low write    start: clock in which CE# falls; low: its clocks low
//   TRANSFER accepted done pulses data     data: the destination's bytes afterwards, in hexadecimal
//   PROTOCOL ...                           what broke the device's rules
// A line of the file: clocks to wait, direction (1: to Psram), Psram address, SRAM address, bytes.
module bench #(
`include "psram_parameters.svh"
    ,
    parameter int BOUNDARY_BYTES = 0,
    parameter int MAX_BURST_BYTES = 0,
    parameter int SETUP_CLOCKS = 16,
    parameter int BASE = 0,
    parameter int WINDOW_BYTES = 16384,
    parameter int SRAM_BYTES = 8192,
    parameter bit ALWAYS_COLLIDES = 0,
    parameter int TICKS_PER_CLOCK = 1,
    parameter int REFRESH_INTERVAL = 0,
    parameter int REFRESH_BUSY = 0
);
  localparam int WORD_BYTES = DQ_BITS < 8 ? 1 : DQ_BITS / 8;

  logic clk = 0;
  logic reset = 1;
  int clock = 0;
  always #1 clk = !clk;
  always @(posedge clk) clock <= clock + 1;

  logic valid = 0;
  logic ready;
  logic to_psram;
  logic [31:0] source;
  logic [31:0] destination;
  logic [31:0] length;
  logic done;
  logic [31:0] sram_address;
  logic [WORD_BYTES-1:0] sram_write;
  logic [8*WORD_BYTES-1:0] sram_write_word;
  logic [8*WORD_BYTES-1:0] sram_read_word;
  logic ce_n;
  logic ck_enable;
  logic [DQ_BITS-1:0] dq_out;
  logic dq_drive;
  logic [WORD_BYTES-1:0] mask;
  logic [DQ_BITS-1:0] dq_in;
  logic collided;

  dma_psram #(
`include "psram_parameters_passed.svh"
      ,
      .BOUNDARY_BYTES (BOUNDARY_BYTES),
      .MAX_BURST_BYTES(MAX_BURST_BYTES),
      .SETUP_CLOCKS   (SETUP_CLOCKS)
  ) path (
      .clk(clk),
      .reset(reset),
      .valid(valid),
      .ready(ready),
      .to_psram(to_psram),
      .source(source),
      .destination(destination),
      .length(length),
      .done(done),
      .sram_address(sram_address),
      .sram_write(sram_write),
      .sram_write_word(sram_write_word),
      .sram_read_word(sram_read_word),
      .ce_n(ce_n),
      .ck_enable(ck_enable),
      .dq_out(dq_out),
      .dq_drive(dq_drive),
      .mask(mask),
      .dq_in(dq_in),
      .collided(collided)
  );

  psram_device #(
`include "psram_parameters_passed.svh"
      ,
      .BASE(BASE),
      .WINDOW_BYTES(WINDOW_BYTES),
      .ALWAYS_COLLIDES(ALWAYS_COLLIDES),
      .TICKS_PER_CLOCK(TICKS_PER_CLOCK),
      .REFRESH_INTERVAL(REFRESH_INTERVAL),
      .REFRESH_BUSY(REFRESH_BUSY)
  ) device (
      .clk(clk),
      .clock(clock),
      .ce_n(ce_n),
      .ck_enable(ck_enable),
      .dq_in(dq_out),
      .dq_driven(dq_drive),
      .mask(mask),
      .dq_out(dq_in),
      .collided(collided)
  );

  // The on-chip SRAM: any byte address, the word read comes in the next clock.
  logic [7:0] sram[0:SRAM_BYTES-1];
  always @(posedge clk)
    if (sram_write != 0) begin
      for (int lane = 0; lane < WORD_BYTES; lane++)
        if (sram_write[lane]) sram[(sram_address+lane)%SRAM_BYTES] <= sram_write_word[8*lane+:8];
    end
  always @(posedge clk)
    for (int lane = 0; lane < WORD_BYTES; lane++)
      sram_read_word[8*lane+:8] <= sram[(sram_address+lane)%SRAM_BYTES];

  // Bursts, reported one clock after CE# rose: the last word of a read has then been written.
  bit was_low = 0;
  int low_since;
  int kept;
  int first_lane;
  always @(posedge clk) begin
    if (!ce_n && !was_low) begin
      low_since = clock;
      kept = 0;
    end
    if (sram_write != 0) begin
      for (int lane = 0; lane < WORD_BYTES; lane++)
        if (sram_write[lane]) begin
          if (kept == 0) first_lane = lane;
          kept = kept + 1;
        end
    end
    if (ce_n && was_low) begin
      if (device.writing)
        $display("BURST %0d %0d %0d %0d 1", device.first_stored, device.stored, low_since, clock - low_since);
      else $display("BURST %0d %0d %0d %0d 0", device.place + first_lane, kept, low_since, clock - low_since);
    end
    was_low = !ce_n && !reset;
  end

  // Transfers.
  int accepted;
  int pulses_before = 0;
  bit at_psram;
  int target;
  int size;
  always @(posedge clk)
    if (!reset) begin
      if (done) begin
        $write("TRANSFER %0d %0d %0d ", accepted, clock, device.all_pulses - pulses_before);
        for (int i = 0; i < size; i++)
          if (at_psram) $write("%02x", device.memory[target-BASE+i]);
          else $write("%02x", sram[target+i]);
        $write("\n");
        pulses_before = device.all_pulses;
      end
      if (valid && ready) begin
        accepted = clock;
        at_psram = to_psram;
        target = destination;
        size = length;
      end
    end

  string folder;
  int file;
  int wait_clocks;
  int direction;
  int psram_address;
  int sram_start;
  int bytes;
  initial begin
    if (!$value$plusargs("folder=%s", folder)) $fatal(1, "+folder= is missing");
    $readmemh({folder, "/psram.hex"}, device.memory);
    $readmemh({folder, "/sram.hex"}, sram);
    file = $fopen({folder, "/transfers.txt"}, "r");
    repeat (3) @(posedge clk);
    reset <= 0;
    while ($fscanf(file, "%d %d %d %d %d", wait_clocks, direction, psram_address, sram_start, bytes) == 5) begin
      repeat (wait_clocks) @(posedge clk);
      valid <= 1;
      to_psram <= direction != 0;
      source <= direction != 0 ? sram_start : psram_address;
      destination <= direction != 0 ? psram_address : sram_start;
      length <= bytes;
      @(posedge clk);
      while (!ready) @(posedge clk);
      valid <= 0;
    end
    @(posedge clk);
    while (!ready) @(posedge clk);
    repeat (2) @(posedge clk);
    $writememh({folder, "/psram_after.hex"}, device.memory);
    $writememh({folder, "/sram_after.hex"}, sram);
    $finish;
  end
endmodule
