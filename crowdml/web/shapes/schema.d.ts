/** Rules for what comes from elsewhere. */

/** Returns the value if it keeps the rule; otherwise throws with the rule and the value found. */
export type Rule<T> = (value: unknown, path: string) => T;

export type Fields<F extends Record<string, Rule<any>>> = {
  readonly [K in keyof F]: ReturnType<F[K]>;
};
