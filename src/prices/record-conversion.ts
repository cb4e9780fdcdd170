import { recordAudit } from "../accounts/audit.ts";
import type { Actor } from "../accounts/model.ts";
import { type ConversionMoney, treasuryConverted } from "../ledger/conversion-postings.ts";
import { isAlreadyPosted, postEntries } from "../ledger/post-entries.ts";
import type { Database } from "../platform/db/database.ts";

/**
 * Records that the operator bought and sold on the market, so that the exposure falls. False when
 * this reference was recorded before.
 */
export async function recordConversion(
  database: Database,
  conversion: ConversionMoney,
  by: { actor: Actor; reason: string },
  now: Date,
): Promise<boolean> {
  const { account_id, reference, bought, sold } = conversion;
  try {
    await database.transaction(async (tx) => {
      postEntries(tx, [treasuryConverted(conversion)], now);
      const record = `conversion:${reference}`;
      const detail = {
        bought: `${bought.amount} ${bought.currency}`,
        sold: `${sold.amount} ${sold.currency}`,
      };
      recordAudit(tx, { account_id, ...by, action: "exposure.convert", record, detail }, now);
    });
    return true;
  } catch (error) {
    if (isAlreadyPosted(error)) return false;
    throw error;
  }
}
