import type { Hit } from "../../../hit.ts";

export type Entry = {
  id: string;
  at: string;
  actor: string;
  action: string;
  record: string;
  reason: string;
  /** What was set, as far as it is kept. */
  detail: Record<string, unknown>;
};

/** A record, or a proposal, whose `note` is its state. */
type Described = Hit | { kind: "proposal"; id: string; title: string; note: string };

/** How ids are shown. */
export type Known = {
  /** Of those who act: members, API keys, apps. */
  names: Record<string, string>;
  records: Record<string, Described>;
};
