import type { Session } from "./database.ts";

/**
 * Changes settings until the end of the transaction. Where accounts are on several servers, the
 * server of an account hears of them by SET LOCAL (see `prepare` in pool.ts), but not by
 * set_config(), which takes one statement for several. A failure also fails the next statement.
 */
export async function setLocal(
  tx: Session,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const all = Object.entries(settings);
  if (tx.by_account) {
    await Promise.all(all.map(([name, value]) => tx.query(`set local ${name} = '${value}'`)));
    return;
  }
  const calls = all.map(([name, value]) => `set_config('${name}', '${value}', true)`);
  await tx.query(`select ${calls.join(", ")}`);
}
