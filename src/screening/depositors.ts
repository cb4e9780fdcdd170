import type { ScreenedPerson } from "../partners/screening/port.ts";
import type { Session } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { sealedJson } from "../platform/encryption/sealed-column.ts";
import type { UserKey } from "../users/store.ts";
import { listDepositsOf } from "./store.ts";

const DETAILS = sealedJson<{ payer_name: string }>("fiat_deposits", "details");
/** Who has paid the users' onramps, as the bank names them; by user. */
export async function listDepositors(
  session: Session,
  { keyring, operator_id }: { keyring: Keyring; operator_id: string },
  users: readonly UserKey[],
): Promise<Map<string, string[]>> {
  const rows = await listDepositsOf(session, operator_id, users);
  const subjects = rows.map((row) => ({ account_id: operator_id, subject_id: row.deposit_id }));
  const keys = await keyring.openSubjects(session, subjects);
  const names = new Map<string, string[]>();
  for (const { user_id, deposit_id: id, details } of rows) {
    const key = keys.get(operator_id, id);
    // Without its key the payer was erased.
    if (!key) continue;
    const { payer_name } = DETAILS.open(key, { account_id: operator_id, id }, details);
    names.set(user_id, [...(names.get(user_id) ?? []), payer_name]);
  }
  return names;
}

/** A depositor, who is another person than the user; null for the user's own name. */
export function personOfDepositor(name: string, user: ScreenedPerson): ScreenedPerson | null {
  const is_own = user.names.some((own) => wordsIn(own) === wordsIn(name));
  if (is_own || name === "") return null;
  return { kind: "individual", names: [name], birth_date: null, countries: [], wallets: [] };
}

function wordsIn(name: string): string {
  const words =
    name
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.sort().join(" ");
}
