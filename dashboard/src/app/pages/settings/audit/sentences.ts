import { formatAmount, fromMinor } from "../../../parts/format-amount.ts";
import { plainText } from "../../../parts/plain-text.ts";
import { SENTENCES } from "./action-sentences.ts";
import type { Entry, Known } from "./entry.ts";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const SHA_256 = /^[0-9a-f]{64}$/;

const KINDS: Readonly<Record<string, string>> = {
  member: "",
  person: "",
  api_key: "API key ",
  app: "app ",
  proposal: "The members who confirmed proposal ",
};
const ALONE: Readonly<Record<string, string>> = {
  "command line": "The operator (command line)",
  "first start": "The first start",
  worker: "Sliproad",
};

/** Who acted, by name where one is known. */
export function nameActor(
  { actor }: Pick<Entry, "actor">,
  { names }: Pick<Known, "names">,
): string {
  const [kind = "", id = ""] = actor.split(":");
  const name = names[id] ?? `…${id.slice(-8)}`;
  return ALONE[actor] ?? `${KINDS[kind] ?? `${kind.replaceAll("_", " ")} `}${name}`;
}

/** What was done, in words, around what it is about. */
export function partsOfAction(
  { action, record }: Pick<Entry, "action" | "record">,
  known: Known,
): [before: string, it: string, after: string] {
  const sentence = SENTENCES[action] ?? `${action.replaceAll(/[._]/g, " ")}: {it}`;
  const [before = "", after] = sentence.split("{it}");
  if (after === undefined) return [before, "", ""];
  return [before, nameOf(record.slice(record.indexOf(":") + 1), known), after];
}

/** The same as one text. */
export function sayAction(entry: Pick<Entry, "action" | "record">, known: Known): string {
  return partsOfAction(entry, known).join("");
}

function nameOf(id: string, { names, records }: Known): string {
  const record = records[id];
  if (SHA_256.test(id)) return `${id.slice(0, 8)}…`;
  if (!record) return names[id] ?? (ID.test(id) ? `…${id.slice(-8)}` : id);
  const { kind, title, note } = record;
  const text = note && kind !== "proposal" ? `${title} (${note})` : title;
  return plainText(text.replace(OWN_KIND, ""));
}

/** The sentences name the kind already: "executed the quote of …". */
const OWN_KIND = /^(Quote|Onramp|Refund) (?=of )/;

/** How what was set is stored, where it is neither a name nor an id. */
const SAYINGS: Readonly<Record<string, (text: string) => string>> = {
  amount_usd: (text) => `${formatAmount(text, "usd")} USD`,
  approval_above_usd: sayCents,
  amount_max: sayCents,
  bought: sayMinor,
  sold: sayMinor,
  amount: sayMinor,
  amounts: sayMinor,
  // The names of fields.
  fields: (text) => text.split(" ").map(sayName).join(", "),
};

function sayCents(text: string): string {
  return sayMinor(`${text} usd`);
}

/** `180050 eur`, in minor units. */
function sayMinor(text: string): string {
  const [minor = "", currency = ""] = text.split(" ");
  if (!/^-?\d+$/.test(minor) || currency === "") return text;
  const sign = minor.startsWith("-") ? "-" : "";
  const amount = sign + fromMinor(minor.replace("-", ""), currency);
  return `${formatAmount(amount, currency)} ${currency.toUpperCase()}`;
}

/** What was set, as far as it is kept: ids by name, amounts in the one format. */
export function factsOf({ detail }: Pick<Entry, "detail">, known: Known): [string, string][] {
  return Object.entries(detail)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => {
      const say = SAYINGS[name] ?? ((text: string) => nameOf(text, known));
      return [
        sayName(name),
        (Array.isArray(value) ? value : [value]).map(String).map(say).join(", "),
      ];
    });
}

/** `quote_id` is shown as what it is. */
function sayName(name: string): string {
  if (name === "fields") return "changed";
  return name
    .replace(/_url(s?)$/, " URL$1")
    .replace(/_(id|usd)$/, "")
    .replaceAll("_", " ");
}
