import type { Problem } from "../platform/errors.ts";
import { CHANGE_TYPES, type ChangeInput, type ChangeType } from "./model.ts";
import { compactObject, objectOf, readFields } from "./read-fields.ts";

const NOTE_MAX = 2_000;
const LINK_MAX = 2_048;

/** Reads a wanted change; all that is wrong with it at once. */
export function checkChange(
  body: unknown,
  already: readonly Problem[],
): { name: ChangeType | null; input: ChangeInput | null; problems: Problem[] } {
  const fields = readFields(already);
  const { type, input: given } = objectOf(body);
  const name = CHANGE_TYPES.find((known) => known === type) ?? null;
  const { note, amount, txLink } = objectOf(given);
  const input = compactObject({
    note: fields.text("input.note", note, NOTE_MAX, true),
    amount: fields.digits("input.amount", amount),
    txLink: fields.text("input.txLink", txLink, LINK_MAX),
  }) as ChangeInput;
  if (name === "reject" && input.note === undefined) fields.missing("input.note");
  const link = input.txLink === undefined ? null : URL.parse(input.txLink);
  if (input.txLink !== undefined && !["https:", "http:"].includes(link?.protocol ?? "")) {
    fields.report("input.txLink", "record_invalid", "Send an https address.");
  }
  const is_empty = Object.keys(input).length === 0;
  return { name, input: is_empty ? null : input, problems: fields.problems };
}
