import type { Transaction } from "../platform/db/database.ts";

/** How many codes and tokens are deleted with their consent. */
const TOKENS_DELETED_MAX = 1_000;

/**
 * Deletes what applications hold for a person (`apps/oauth`), in one account or all, of one
 * application or all: the consents, without which their codes and tokens are not valid. An
 * application may have got millions of these: what is left is deleted when it expires.
 */
export function deleteTokens(
  tx: Transaction,
  of: {
    person_id: string;
    account_id: string | null;
    app_id?: string;
    /** A consent that stays. */
    kept_id?: string | null;
  },
): void {
  const { person_id, account_id, app_id = null, kept_id = null } = of;
  const values = [person_id, account_id, app_id, kept_id];
  const consents = `model = 'Grant' and person_id = $1 and ($2::uuid is null or account_id = $2)
    and ($3::uuid is null or app_id = $3) and grant_id is distinct from $4`;
  // Without waiting for the OAuth library, which deletes some of them in another order.
  tx.write(
    `delete from oauth_artifacts where (model, id_hash) in (
       select model, id_hash from oauth_artifacts
       where model <> 'Grant' and grant_id in (
         select grant_id from oauth_artifacts where ${consents})
       limit $5 for update skip locked)`,
    [...values, TOKENS_DELETED_MAX],
  );
  tx.write(
    `delete from oauth_artifacts where (model, id_hash) in (
       select model, id_hash from oauth_artifacts where ${consents}
       order by model, id_hash for update)`,
    values,
  );
}

/** Nothing that a person let in keeps a token. */
export function deletePersonTokens(tx: Transaction, person_id: string): void {
  deleteTokens(tx, { account_id: null, person_id });
}
