/** Keep the screen on while taking part: a sleeping page senses nothing. */

/** @type {Promise<WakeLockSentinel | undefined>} */
let lock = Promise.resolve(undefined);

/** @param {boolean} on */
export async function keepOn(on) {
  lock = lock.then(async (held) => {
    if (!on) await held?.release();
    if (!on || (held && !held.released)) return on ? held : undefined;
    return navigator.wakeLock?.request("screen").catch(() => undefined);
  });
  return Boolean(await lock) || !on;
}
