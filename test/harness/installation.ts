import type { Session } from "../../src/platform/db/database.ts";

/** What a clock needs to be there, for tests that do without encryption. */
export async function insertInstallation(
  session: Session,
  mode: "sandbox" | "live" = "sandbox",
): Promise<void> {
  await session.query(
    `insert into installation (id, mode, master_key_id, index_key, created_at)
     values (true, $1, 'test', '', $2)`,
    [mode, new Date()],
  );
}
