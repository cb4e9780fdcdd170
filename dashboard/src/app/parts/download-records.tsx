import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { messageOf } from "../api.ts";
import { Icon } from "./icons.tsx";
import { recordsFile } from "./records-file.ts";
import { saveFile } from "./save-file.ts";

/** A list that is on the page as a whole. */
export function DownloadAll<Row extends object>(props: { label: string; rows: readonly Row[] }) {
  const { label, rows } = props;
  if (rows.length === 0) return null;
  const load = async () => ({
    rows: rows.map((row, at) => ({ id: String(at), row })),
    has_more: false,
  });
  return <DownloadRecords {...{ label, load }} fileRowsOf={({ row }) => [row]} />;
}

type Load<Row> = (starting_after: string | undefined) => Promise<{
  rows: Row[];
  has_more: boolean;
  next?: string | null;
}>;

/** More than this is an export for auditors, not a file for a spreadsheet. */
const ROWS_MAX = 100_000;

/** The whole list with the filters that are set, read page by page. */
export function DownloadRecords<Row extends { id: string }>(props: {
  label: string;
  load: Load<Row>;
  /** Where a record is several rows of the file. */
  fileRowsOf?: (row: Row) => object[];
}) {
  const { label, load, fileRowsOf = (row) => [row] } = props;
  const [count, setCount] = useState(0);
  const download = useMutation({
    mutationFn: async () => {
      const { rows, is_cut } = await loadAll(load, setCount);
      saveFile(`${nameOf(label)}.csv`, recordsFile(rows.flatMap(fileRowsOf)));
      return is_cut;
    },
    onSettled: () => setCount(0),
  });
  return (
    <div className="download">
      {download.data && (
        <span role="alert">The file has the newest {ROWS_MAX}; restrict the list for others.</span>
      )}
      {download.isError && <span role="alert">{messageOf(download.error)}</span>}
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        leftSection={<Icon name="download" size={14} />}
        disabled={download.isPending}
        onClick={() => download.mutate()}
      >
        {download.isPending ? `${count} ${count === 1 ? "row" : "rows"}…` : "Download CSV"}
      </Button>
    </div>
  );
}

async function loadAll<Row extends { id: string }>(
  load: Load<Row>,
  onCount: (count: number) => void,
): Promise<{ rows: Row[]; is_cut: boolean }> {
  const rows: Row[] = [];
  for (let after: string | undefined; rows.length < ROWS_MAX; ) {
    const page = await load(after);
    rows.push(...page.rows);
    onCount(rows.length);
    after = page.next ?? page.rows.at(-1)?.id;
    if (!page.has_more || after === undefined) return { rows, is_cut: false };
  }
  return { rows, is_cut: true };
}

/** What the list is called, and the day. */
function nameOf(label: string): string {
  const words = label
    .split(",")[0]!
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-");
  return `${words}-${new Date().toISOString().slice(0, 10)}`;
}
