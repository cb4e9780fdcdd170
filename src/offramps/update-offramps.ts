import type { Metadata } from "../catalogue/metadata.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { OfframpRule } from "./change-offramps.ts";
import type { Quote } from "./quotes/model.ts";
import { lockQuoteRows } from "./quotes/store.ts";
import { advanceOfframp } from "./record-changes.ts";
import { updateReferences } from "./store.ts";

/** Undefined leaves a field as it is. */
export type OfframpEdit = { reference?: string | null; metadata?: Metadata };

/**
 * Reference and metadata may change until the deposit is confirmed, or until two members have
 * approved them. Locks the quote, as the task does that compares what they approved.
 */
export const updateOfframps = (index_key: Buffer): OfframpRule<OfframpEdit, AccountMap<Quote>> => ({
  name: "update-offramps",
  load: async (tx, commands) => {
    const keys = commands.flatMap(({ account_id, input: { quote_id: id } }) =>
      id === null ? [] : [{ account_id, id }],
    );
    return AccountMap.of(await lockQuoteRows(tx, keys), (quote) => quote);
  },
  decide: (entry, { input }, quotes, now) => {
    const { offramp } = entry;
    const refuse = (message: string) => ({
      problems: [{ field: "offramp_id", code: "offramp_not_editable" as const, message }],
    });
    if (offramp.status !== "initiated") {
      return refuse("Only an offramp with the status initiated can be changed.");
    }
    if (quotes.get(offramp.account_id, offramp.quote_id)?.approval_status === "done") {
      return refuse("Two members have approved this payout as it is; it can no longer be changed.");
    }
    const { reference = offramp.details.reference, metadata = offramp.details.metadata } =
      input.requested;
    const details = { ...offramp.details, reference, metadata };
    return { value: advanceOfframp(entry, { details }, now) };
  },
  record: (tx, changes) => {
    // The same one may have been changed twice.
    const last = new Map(changes.map(({ offramp }) => [offramp.id, offramp]));
    updateReferences(tx, index_key, [...last.values()]);
  },
});
