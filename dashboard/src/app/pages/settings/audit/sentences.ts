import { SENTENCES } from "./action-sentences.ts";
import type { Entry } from "./audit.ts";

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
  names: Readonly<Record<string, string>>,
): string {
  return ALONE[actor] ?? nameReference(actor, names);
}

/** What was done, in words; an action without a sentence by its name. */
export function sayAction(entry: Entry, names: Readonly<Record<string, string>>): string {
  const sentence = SENTENCES[entry.action];
  if (!sentence) return `${entry.action.replaceAll(/[._]/g, " ")}: ${nameIt(entry, names)}`;
  return sentence.replace("{it}", nameIt(entry, names));
}

function nameIt({ record }: Entry, names: Readonly<Record<string, string>>): string {
  const id = record.slice(record.indexOf(":") + 1);
  return names[id] ?? (ID.test(id) ? `…${id.slice(-8)}` : id);
}

function nameReference(reference: string, names: Readonly<Record<string, string>>): string {
  const [kind = "", id = ""] = reference.split(":");
  const name = names[id] ?? `…${id.slice(-8)}`;
  return `${KINDS[kind] ?? `${kind.replaceAll("_", " ")} `}${name}`;
}
