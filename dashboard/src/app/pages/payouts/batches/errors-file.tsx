import { Button, FileButton } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { messageOf } from "../../../api.ts";
import { toCsv } from "../../../parts/csv.ts";
import { saveFile } from "../../../parts/save-file.ts";
import type { Draft, RowChange } from "./batch.ts";
import { CELL_NAMES, CELLS, cellOfHeading } from "./columns.ts";
import { FileProblem, readPayoutFile } from "./read-file.ts";

const ROW = "Row";
const PROBLEM = "Problem";
const NO_ROWS =
  `The file has no row of this batch. It needs the column “${ROW}” of errors.csv, ` +
  "with the number of each row.";

/** The rows that are not ready, with what is wrong; corrected, they can be uploaded again. */
export function saveErrors({ rows }: Draft): void {
  const wrong = rows.filter((row) => !row.is_excluded && !row.is_ready);
  const used = CELL_NAMES.filter((name) =>
    wrong.some(({ cells, problems }) => cells[name] || problems.some(({ cell }) => cell === name)),
  );
  const header = [ROW, PROBLEM, ...used.map((name) => CELLS[name].label)];
  const lines = wrong.map(({ n, cells, problems }) => [
    n,
    problems.map(({ cell, message }) => `${CELLS[cell].label}: ${message}`).join(" "),
    ...used.map((name) => cells[name]),
  ]);
  saveFile("errors.csv", toCsv([header, ...lines]));
}

/** The corrected file: its rows replace those with the same number. */
export function CorrectedFile(props: { draft: Draft; onRows: (rows: RowChange[]) => void }) {
  const { draft, onRows } = props;
  const read = useMutation({
    mutationFn: async (file: File) => {
      const rows = rowsOf(await readPayoutFile(file), draft);
      if (rows.length === 0) throw new FileProblem(NO_ROWS);
      onRows(rows);
    },
  });
  return (
    <>
      <FileButton accept=".csv,text/csv" onChange={(file) => file && read.mutate(file)}>
        {(button) => (
          <Button size="xs" variant="default" loading={read.isPending} {...button}>
            Upload corrected rows
          </Button>
        )}
      </FileButton>
      {read.isError && (
        <span role="alert" className="bad">
          {read.error instanceof FileProblem ? read.error.message : messageOf(read.error)}
        </span>
      )}
    </>
  );
}

type Corrected = { headings: string[]; rows: { cells: string[] }[] };

/** Rows are found by the number in the column that `saveErrors` wrote. */
function rowsOf({ headings, rows }: Corrected, draft: Draft): RowChange[] {
  const row_at = headings.indexOf(ROW);
  const known = new Set(draft.rows.map(({ n }) => n));
  return rows.flatMap(({ cells }) => {
    const n = Number(cells[row_at]);
    if (!known.has(n)) return [];
    const named = headings.flatMap((heading, at) => {
      const name = heading === ROW || heading === PROBLEM ? null : cellOfHeading(heading);
      return name ? [[name, cells[at] ?? ""] as const] : [];
    });
    return [{ n, cells: Object.fromEntries(named) }];
  });
}
