/** Compute Pearson's chi-square test, for tests with a stated rate of false alarms. */

/**
 * The rate of false alarms of each test by chance. There are less than 20 of them, which makes less
 * than 1e-6 in total.
 */
export const FALSE_ALARM = 5e-8;

/**
 * Return P(χ² ≥ the observed value), if the probabilities are true.
 *
 * @param {readonly number[]} counts
 * @param {readonly number[]} probabilities
 */
export function chiSquareP(counts, probabilities) {
  const total = counts.reduce((a, b) => a + b, 0);
  let statistic = 0;
  counts.forEach((count, i) => {
    const expected = total * (probabilities[i] ?? 0);
    if (expected < 5) throw new RangeError(`a bin must expect 5, found ${expected}: merge bins.`);
    statistic += (count - expected) ** 2 / expected;
  });
  return upperGamma((counts.length - 1) / 2, statistic / 2);
}

/**
 * The regularised upper incomplete gamma function, by series or by Lentz's continued fraction.
 *
 * @param {number} a
 * @param {number} x
 */
function upperGamma(a, x) {
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let [term, sum] = [1 / a, 1 / a];
    for (let n = 1; n < 10_000 && term > sum * 1e-17; n++) sum += term *= x / (a + n);
    return 1 - front * sum;
  }
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let n = 1; n < 10_000; n++) {
    b += 2;
    d = 1 / (n * (a - n) * d + b);
    c = b + (n * (a - n)) / c;
    h *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return front * h;
}

/** @param {number} a Stirling's series, shifted to where it is exact enough. */
function logGamma(a) {
  let shift = 0;
  let z = a;
  for (; z < 15; z++) shift += Math.log(z);
  const series = 1 / (12 * z) - 1 / (360 * z ** 3) + 1 / (1260 * z ** 5);
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift;
}
