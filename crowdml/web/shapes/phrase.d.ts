/** Sentences, and the languages that they are said in. */

/** Templates by the English ones; a record has one for each form that CLDR names. */
export type Catalogue = ReadonlyMap<string, string | Readonly<Record<string, string>>>;

export type Translate = (template: string, values: Phrase["values"]) => string;

/** A sentence that a page can say in its language; memory can store it, JSON can carry it. */
export interface Phrase {
  /** English, with {names}. */
  readonly template: string;
  /** Texts that no language changes, numbers that each writes in its way, and phrases. */
  readonly values: Readonly<Record<string, string | number | Phrase>>;
}

/** A share estimated from noisy counts, and half of its 95 % interval. */
export interface Estimate {
  readonly value: number;
  readonly margin: number;
}

/** A plain word for ε. */
export interface PrivacyLevel {
  /** The largest ε that has this level. */
  readonly most: number;
  /** The level in code and in style sheets. */
  readonly key: string;
  /** The level as a label. */
  readonly pill: Phrase;
  /** The level inside a sentence. */
  readonly word: Phrase;
}

/** Why a device has stopped. */
export interface End {
  /** `left`, `fulfilled`, or the kind of the server's rejection. */
  readonly code: string;
  readonly phrase: Phrase;
}
