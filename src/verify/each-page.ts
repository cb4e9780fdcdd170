import { FIRST_ID } from "../platform/ids.ts";

/** Passes rows to a check page by page, in order of their ids, until it finds an error. */
export async function eachPage<Row extends { id: string }>(
  list: (above_id: string) => Promise<Row[]>,
  check: (rows: Row[]) => Promise<string | null>,
): Promise<string | null> {
  for (let above_id = FIRST_ID; ; ) {
    const rows = await list(above_id);
    const last = rows.at(-1);
    if (!last) return null;
    const fault = await check(rows);
    if (fault) return fault;
    above_id = last.id;
  }
}
