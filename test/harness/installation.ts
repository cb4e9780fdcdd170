import type { Session } from "../../src/platform/db/database.ts";

/** The row that a clock needs, for tests without encryption. */
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
