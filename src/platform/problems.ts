import { type ErrorCode, notFound, type Problem, Refusal } from "./errors.ts";

/** Used as the path when a problem concerns the body as a whole. */
export const BODY = "body";
/** An answer quotes at most this much of the caller's input. */
const QUOTE_CHARACTERS_MAX = 100;
/** More parents than any field of the API has. */
export const PARENTS_MAX = 8;

/** The result of a check: the value, or everything that is wrong with it. */
export type Checked<Value> = { value: Value } | { problems: readonly Problem[] };

/** The result of parsing one text. The parser does not know which field the text comes from. */
export type Parsed<Value> = { value: Value } | { reason: string };

/** The caller's text, shortened for a message. */
export function quoted(text: string): string {
  // The end may be in the middle of a character; half of one is no text.
  return text.slice(0, QUOTE_CHARACTERS_MAX).toWellFormed();
}

/** The problems of a check; empty if it returned a value. */
export function problemsOf(checked: Checked<unknown>): readonly Problem[] {
  return "problems" in checked ? checked.problems : [];
}

/**
 * Collects what is wrong with a request: one problem per field, and none inside an object that was
 * reported as a whole. Paths are compared by their parts, so a problem with `quote.deposit_token`
 * does not affect `quote.deposit_token_chain`.
 */
export class Problems {
  readonly #list: Problem[] = [];
  readonly #fields = new Set<string>();
  /** The parents of every reported field. */
  readonly #parents = new Set<string>();
  #is_body_at_fault = false;

  constructor(found: Iterable<Problem> = []) {
    this.add(found);
  }

  report(field: string, code: ErrorCode, message: string): void {
    const name = quoted(field);
    if (this.isAtFault(name)) return;
    this.#fields.add(name);
    for (const parent of parentsOf(name)) this.#parents.add(parent);
    // A caller may send a field named "body"; that is an unknown field like any other.
    if (name === BODY && code !== "parameter_unknown") this.#is_body_at_fault = true;
    this.#list.push({ field: name, code, message });
  }

  missing(field: string, message = `Send ${field}.`): void {
    this.report(field, "parameter_missing", message);
  }

  invalid(field: string, message: string): void {
    this.report(field, "record_invalid", message);
  }

  notFound(field: string): void {
    this.add([notFound(field)]);
  }

  add(problems: Iterable<Problem>): void {
    for (const { field, code, message } of problems) this.report(field, code, message);
  }

  /** Whether this field or one of its parents was reported: no more problems are added for it. */
  isAtFault(field: string): boolean {
    if (this.#is_body_at_fault || this.#fields.has(field)) return true;
    return parentsOf(field).some((parent) => this.#fields.has(parent));
  }

  /** Whether neither the field nor anything around or inside it was reported: it can be read. */
  isSound(field: string): boolean {
    return !this.isAtFault(field) && !this.#parents.has(field);
  }

  /** The same collector for the fields of one object. */
  within(path: string): ObjectProblems {
    const inside = (name: string) => `${path}.${name}`;
    return {
      report: (name, code, message) => this.report(inside(name), code, message),
      missing: (name, message = `Send ${name}.`) => this.missing(inside(name), message),
      invalid: (name, message) => this.invalid(inside(name), message),
      isAtFault: (name) => this.isAtFault(inside(name)),
      isSound: (name) => this.isSound(inside(name)),
      // Full paths: problems found by a check of a nested object.
      add: (problems) => this.add(problems),
      list: this.#list,
    };
  }

  get list(): readonly Problem[] {
    return this.#list;
  }

  get is_empty(): boolean {
    return this.#list.length === 0;
  }

  /** Only called at the edges (routes, tasks): pure code returns the list. */
  throwIfAny(): void {
    if (!this.is_empty) throw Refusal.of(this.#list);
  }

  /** The value, unless any problem was found. */
  checked<Value>(value: Value | null | undefined): Checked<Value> {
    if (this.is_empty && value !== null && value !== undefined) return { value };
    if (this.is_empty) throw new Error("a value is missing and no problem says why");
    return { problems: this.#list };
  }
}

/** A collector addressed by the field names of one object. */
export type ObjectProblems = Pick<
  Problems,
  "report" | "missing" | "invalid" | "isAtFault" | "isSound" | "add" | "list"
>;

/**
 * The parents of `offramps[1].metadata.colour`: `offramps`, `offramps[1]`, `offramps[1].metadata`.
 * A caller's field name may consist of separators, so only the first PARENTS_MAX are returned.
 */
export function parentsOf(field: string): string[] {
  const parents: string[] = [];
  for (let at = 1; at < field.length && parents.length < PARENTS_MAX; at += 1) {
    const character = field[at];
    if (character === "." || character === "[") parents.push(field.slice(0, at));
  }
  return parents;
}
