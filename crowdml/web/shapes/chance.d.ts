/** Sources of random numbers, and amounts of noise. */

/** An amount of noise. */
export interface NoiseAmount {
  /** The largest change, in integer steps and in the norm of the law, when one sample is replaced. */
  readonly sensitivity: number;
  /** ε of Laplace noise, ρ of Gaussian noise. */
  readonly level: number;
}

/** Draws an integer 0 … n−1, all equally likely. */
export interface RandomIndex {
  below(n: number): number;
}

/** All randomness of a device. */
export interface Chance extends RandomIndex {
  /** 128 random bits as 22 characters. */
  randomId(): string;
  /** Adds independent discrete Laplace noise to integers. */
  addLaplace(values: readonly number[], amount: NoiseAmount): number[];
  /** Adds independent discrete Gaussian noise to integers. */
  addGaussian(values: readonly number[], amount: NoiseAmount): number[];
}
