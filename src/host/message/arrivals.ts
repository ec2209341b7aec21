/** Which of the last 64 packets have arrived: what an ACK says. Numbers are serial, 32 bits. */
export class Arrivals {
  /** Greatest number so far. */
  highest = 0;
  /** Bit i: packet highest - i. */
  low = 0;
  /** Bit i: packet highest - 32 - i. */
  high = 0;
  #isEmpty = true;

  /** Says whether the packet came in turn: right after the greatest one so far. */
  add(number: number): boolean {
    const ahead = this.#isEmpty ? 64 : (number - this.highest) | 0;
    if (ahead > 0) {
      const isNext = ahead === 1 || this.#isEmpty;
      this.#shift(ahead);
      this.highest = number;
      this.low |= 1;
      this.#isEmpty = false;
      return isNext;
    }
    const behind = -ahead;
    if (behind < 32) this.low |= 1 << behind;
    else if (behind < 64) this.high |= 1 << (behind - 32);
    return false;
  }

  #shift(by: number): void {
    if (by >= 64) {
      this.low = 0;
      this.high = 0;
    } else if (by >= 32) {
      this.high = by === 32 ? this.low : this.low << (by - 32);
      this.low = 0;
    } else {
      this.high = (this.high << by) | (this.low >>> (32 - by));
      this.low <<= by;
    }
  }
}
