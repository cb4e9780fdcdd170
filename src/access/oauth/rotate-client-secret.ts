import type { Transaction } from "../../platform/db/database.ts";
import { hashClientSecret, makeClientSecret } from "../app-model.ts";
import { recordAudit } from "../audit.ts";
import type { Actor } from "../model.ts";
import { updateClientSecret } from "./consents-store.ts";

/** Gives an application another secret, which is shown once; the one before ends here. */
export function rotateClientSecret(
  tx: Transaction,
  index_key: Buffer,
  input: { account_id: string; id: string; actor: Actor; reason: string },
  now: Date,
): string {
  const { account_id, id, actor, reason } = input;
  const secret = makeClientSecret();
  const hash = hashClientSecret(index_key, id, secret);
  updateClientSecret(tx, { account_id, id }, { hash, last_four: secret.slice(-4) }, now);
  recordAudit(
    tx,
    { account_id, actor, action: "app.rotate_client_secret", record: `app:${id}`, reason },
    now,
  );
  return secret;
}
