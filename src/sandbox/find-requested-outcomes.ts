import { readEndToEndId } from "../offramps/payouts/model.ts";
import { listDetails } from "../offramps/store.ts";
import type { FindOutcomes } from "../partners/bank/sandbox.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";

/**
 * The outcomes that callers request in an offramp's `metadata.sandbox_outcome`: one per attempt,
 * separated by commas.
 */
export function findRequestedOutcomes(session: Session, keyring: Keyring): FindOutcomes {
  return async (instructions) => {
    const payouts = instructions.flatMap(({ account_id, end_to_end_id }) => {
      const attempt = readEndToEndId(end_to_end_id);
      return attempt ? [{ account_id, end_to_end_id, ...attempt }] : [];
    });
    const keys = payouts.map(({ account_id, offramp_id }) => ({ account_id, id: offramp_id }));
    const found = await listDetails(session, keyring, keys);
    const requests = new Map(
      found.map(({ id, details }) => [id, details.metadata.sandbox_outcome]),
    );
    return new Map(
      payouts.flatMap(({ end_to_end_id, offramp_id, attempt }) => {
        const request = requests.get(offramp_id);
        const outcome = typeof request === "string" && request.split(",")[attempt - 1]?.trim();
        return outcome ? [[end_to_end_id, outcome] as const] : [];
      }),
    );
  };
}
