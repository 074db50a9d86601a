/** List the kinds of models that a task can name; the browser has no other list of them. */

import { Hinge, Softmax } from "./classifiers.js";
import { Huber, Ridge } from "./regression.js";

/** @import { ModelKind } from "../types.js" */

/** @satisfies {Record<string, ModelKind>} */
export const MODELS = Object.freeze({
  softmax: { classifier: true, make: ({ intercept }, d, c) => new Softmax(d, c, intercept) },
  hinge: { classifier: true, make: ({ intercept }, d, c) => new Hinge(d, c, intercept) },
  ridge: {
    classifier: false,
    make: ({ intercept, tolerance }, d) => new Ridge(d, intercept, tolerance),
  },
  huber: {
    classifier: false,
    make: ({ intercept, tolerance, delta }, d) => new Huber(d, intercept, tolerance, delta),
  },
});
