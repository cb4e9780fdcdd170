import type { PageDeps } from "../page-scope.ts";
import type { ShownPasskey } from "../passkeys/change-passkeys.ts";
import { openPasskeyName } from "../passkeys/seal-passkey.ts";
import { listPasskeys } from "../passkeys/store.ts";
import { countRecoveryCodes, findTotp } from "../second-factor/store.ts";
import { openOrigin, type SessionOrigin } from "../sign-in/session-origin.ts";
import { listSessions } from "../sign-in/session-store.ts";
import { type MemberSession, needsFactor, usedAfter } from "../sign-in/sessions.ts";

export type Security = {
  /** When the authenticator app was set up; null without one. */
  app_since: Date | null;
  passkeys: ShownPasskey[];
  is_factor_needed: boolean;
  recovery_codes_left: number;
  sessions: (SessionOrigin & {
    id: string;
    account_name: string;
    created_at: Date;
    used_at: Date;
    is_this: boolean;
  })[];
};

/** What a person can see and change about their own sign-in. */
export async function loadSecurity(
  { config, database, index_key }: Pick<PageDeps, "config" | "database" | "index_key">,
  session: Pick<MemberSession, "id" | "person_id" | "role">,
  now: Date,
): Promise<Security> {
  const { person_id } = session;
  const [totp, passkeys, recovery_codes_left, sessions] = await Promise.all([
    findTotp(database, person_id),
    listPasskeys(database, person_id),
    countRecoveryCodes(database, person_id),
    listSessions(database, person_id, now, usedAfter(config, now)),
  ]);
  return {
    app_since: totp?.created_at ?? null,
    passkeys: passkeys.map((row) => ({ ...row, name: openPasskeyName(index_key, row) })),
    is_factor_needed: needsFactor(config, session.role),
    recovery_codes_left,
    sessions: sessions.map(({ origin, ...row }) => ({
      ...row,
      ...openOrigin(index_key, row.id, origin),
      is_this: row.id === session.id,
    })),
  };
}
