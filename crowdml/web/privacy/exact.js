/** Compute exactly with 64-bit floats: their bits, their fractions, their sums. */

const bits = new DataView(new ArrayBuffer(8));
const FRACTION = 2n ** 52n;
const UP = 2 ** 54;

/**
 * Return ⌊log₂ v⌋ of a positive float, from its exponent, without a rounded logarithm.
 *
 * @param {number} v
 * @returns {number}
 */
export function floorLog2(v) {
  bits.setFloat64(0, v);
  const exponent = (bits.getUint16(0) >> 4) & 0x7ff;
  return exponent ? exponent - 1023 : floorLog2(v * UP) - 54;
}

/** @param {number} k −1022 … 1023. */
export function powerOfTwo(k) {
  bits.setBigUint64(0, BigInt(k + 1023) << 52n);
  return bits.getFloat64(0);
}

/**
 * Return a positive, finite float as its fraction m·2^e.
 *
 * @param {number} v
 * @returns {{m: bigint, e: number}}
 */
export function asFraction(v) {
  if (v < powerOfTwo(-1000)) {
    const { m, e } = asFraction(v * UP);
    return { m, e: e - 54 };
  }
  bits.setFloat64(0, v);
  const m = FRACTION + BigInt.asUintN(52, bits.getBigUint64(0));
  return { m, e: floorLog2(v) - 52 };
}

/** @type {(a: bigint, shift: number, b: bigint) => bigint} ⌈a·2^shift/b⌉, for a, b > 0. */
export function ceilRatio(a, shift, b) {
  const over = shift > 0 ? a << BigInt(shift) : a;
  const under = shift < 0 ? b << BigInt(-shift) : b;
  return (over + under - 1n) / under;
}

/** @param {number} v */
export function roundHalfEven(v) {
  const tie = Math.abs(v % 1) === 0.5;
  return (tie ? 2 * Math.round(v / 2) : Math.round(v)) + 0; // −0 becomes 0
}

/**
 * Sum floats with one rounding: Shewchuk's algorithm, as in Python's math.fsum.
 *
 * @param {readonly number[]} values
 */
export function exactSum(values) {
  if (values.includes(Infinity)) return Infinity;
  /** @type {number[]} */
  let parts = [];
  for (const value of values) {
    /** @type {number[]} */
    const rest = [];
    let x = value;
    for (const part of parts) {
      const [large, small] = Math.abs(x) < Math.abs(part) ? [part, x] : [x, part];
      x = large + small;
      const lost = small - (x - large);
      if (lost) rest.push(lost);
    }
    parts = [...rest, x];
  }
  return roundedOnce(parts);
}

/** @param {number[]} parts Numbers that do not overlap, the smallest first. */
function roundedOnce(parts) {
  let sum = 0;
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const x = sum;
    sum = x + part;
    const lost = part - (sum - x);
    if (!lost) continue;
    // A half is rounded to even; a further part may change the direction.
    const next = parts.pop() ?? 0;
    const up = sum + 2 * lost;
    return lost * next > 0 && up - sum === 2 * lost ? up : sum;
  }
  return sum;
}
