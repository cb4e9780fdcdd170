import { type ErrorCode, notFound, type Problem, Refusal } from "./errors.ts";

/** Stands for the path where a problem concerns no field but the body as a whole. */
export const BODY = "body";
/** Of what a caller sent, an answer quotes at most this much. */
const QUOTE_CHARACTERS_MAX = 100;
/** More than any field of the API lies in. */
export const PARENTS_MAX = 8;

/** What a check gives back: the value that it read, or everything that is wrong with it. */
export type Checked<Value> = { value: Value } | { problems: readonly Problem[] };

/** What the parser of one text gives back. It does not know which field the text is from. */
export type Parsed<Value> = { value: Value } | { reason: string };

/** A caller's own text as a message may quote it. */
export function quoted(text: string): string {
  return text.slice(0, QUOTE_CHARACTERS_MAX);
}

/** The problems of a check; none where it gave a value. */
export function problemsOf(checked: Checked<unknown>): readonly Problem[] {
  return "problems" in checked ? checked.problems : [];
}

/**
 * Collects what is wrong with a request: one problem a field, and none inside something that was
 * reported as a whole. Paths are compared by their parts, so `quote.deposit_token` says nothing
 * about `quote.deposit_token_chain`.
 */
export class Problems {
  readonly #list: Problem[] = [];
  readonly #fields = new Set<string>();
  /** Everything that something reported lies in. */
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
    // A caller may call a field of theirs "body"; that is one unknown field like any other.
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

  /** Whether this field, or something that it lies in, was reported: nothing more is said of it. */
  isAtFault(field: string): boolean {
    if (this.#is_body_at_fault || this.#fields.has(field)) return true;
    return parentsOf(field).some((parent) => this.#fields.has(parent));
  }

  /** Whether neither the field, nor anything around or inside it, was reported: it can be read. */
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
      // Whole paths: what a check of something inside has found.
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

  /** Only edges call this: pure code returns the list. */
  throwIfAny(): void {
    if (!this.is_empty) throw Refusal.of(this.#list);
  }

  /** The value, unless something was found wrong on the way to it. */
  checked<Value>(value: Value | null | undefined): Checked<Value> {
    if (this.is_empty && value !== null && value !== undefined) return { value };
    if (this.is_empty) throw new Error("a value is missing and no problem says why");
    return { problems: this.#list };
  }
}

/** A collector that is asked by the names of one object's fields. */
export type ObjectProblems = Pick<
  Problems,
  "report" | "missing" | "invalid" | "isAtFault" | "isSound" | "add" | "list"
>;

/**
 * `offramps[1].metadata.colour` lies in `offramps`, `offramps[1]` and `offramps[1].metadata`. Of a
 * caller's own name, which may consist of separators, only the first are looked at.
 */
export function parentsOf(field: string): string[] {
  const parents: string[] = [];
  for (let at = 1; at < field.length && parents.length < PARENTS_MAX; at += 1) {
    const character = field[at];
    if (character === "." || character === "[") parents.push(field.slice(0, at));
  }
  return parents;
}
