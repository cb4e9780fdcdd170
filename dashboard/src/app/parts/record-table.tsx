import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { KeyboardEvent, ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { DownloadRecords } from "./download-records.tsx";
import { Moment } from "./moment.tsx";
import { ShowMore } from "./show-more.tsx";
import { Empty, Failure, Loading } from "./states.tsx";

export type Column<Row> = {
  name: string;
  cell: (row: Row) => ReactNode;
  /** Amounts stand at the right. */
  is_amount?: boolean;
  /** The first thing that a card on a narrow screen shows. */
  is_title?: boolean;
};

export type RowPage<Row> = {
  rows: Row[];
  has_more: boolean;
  /** Where the next page begins, if not after the last row. */
  next?: string | null;
  /** A page that is not full, although more may match: how far it looked. */
  looked_until?: string | null;
};

/** How often a visible page reads what no event tells of. */
export const LOOK_EVERY_MS = 5_000;

type TableProps<Row> = {
  label: string;
  /** What the rows are of: changes with every filter. */
  query_key: readonly unknown[];
  load: (starting_after: string | undefined) => Promise<RowPage<Row>>;
  columns: readonly Column<Row>[];
  /** Where a row leads. */
  pathOf?: (row: Row) => string;
  empty: ReactNode;
  /** Where a record is several rows of the downloaded file. */
  fileRowsOf?: (row: Row) => object[];
  /** For what no event tells of: it is read again so often while the page is visible. */
  look_every_ms?: number;
};

/** A list of records, newest first, read page by page; on a narrow screen every row is a card. */
export function RecordTable<Row extends { id: string }>(props: TableProps<Row>) {
  const { label, query_key, load, columns, pathOf, empty, look_every_ms, fileRowsOf } = props;
  const listed = useInfiniteQuery({
    queryKey: query_key,
    queryFn: ({ pageParam }) => load(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.has_more ? (last.next ?? last.rows.at(-1)?.id) : undefined),
    // Every page that was opened is read again: the more there are, the more seldom.
    refetchInterval: ({ state }) =>
      look_every_ms ? look_every_ms * Math.max(1, state.data?.pages.length ?? 1) : false,
  });
  if (listed.isPending) return <Loading />;
  const onRetry = () => (listed.isFetchNextPageError ? listed.fetchNextPage() : listed.refetch());
  // The rows that were read before stay.
  const failure = listed.isError && (
    <Failure error={listed.error} onRetry={onRetry} is_update={listed.data !== undefined} />
  );
  if (!listed.data) return failure;
  const rows = listed.data.pages.flatMap((page) => page.rows);
  const looked_until = listed.data.pages.at(-1)?.looked_until;
  if (rows.length === 0 && !looked_until) return failure || empty;
  const more = <ShowMore listed={listed} text={looked_until ? "Look further" : "Show more"} />;
  const extent = looked_until && (
    <p className="looked" role="status">
      Everything since <Moment at={looked_until} /> was looked at
      {rows.length === 0 && "; nothing matches yet"}.
    </p>
  );
  if (rows.length === 0) {
    return (
      <div className="empty">
        {failure}
        {extent}
        {more}
      </div>
    );
  }
  return (
    <>
      {failure}
      <DownloadRecords {...{ label, load }} {...(fileRowsOf ? { fileRowsOf } : {})} />
      <table className="records" {...has("table")} aria-label={label}>
        <thead {...has("rowgroup")}>
          <tr {...has("row")}>
            {columns.map(({ name, is_amount }) => (
              <th
                key={name}
                {...has("columnheader")}
                scope="col"
                className={is_amount ? "right" : undefined}
              >
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...has("rowgroup")}>
          {rows.map((row) => (
            <TableRow key={row.id} row={row} columns={columns} path={pathOf?.(row) ?? null} />
          ))}
        </tbody>
      </table>
      {extent}
      {more}
    </>
  );
}

/** Explicit, because a table that is displayed as blocks loses its roles in some browsers. */
function has(role: "table" | "rowgroup" | "row" | "columnheader" | "cell") {
  return { role };
}

function TableRow<Row>(props: { row: Row; columns: readonly Column<Row>[]; path: string | null }) {
  const { row, columns, path } = props;
  const [, navigate] = useLocation();
  const open = path === null ? undefined : () => navigate(path);
  // Whoever selects a text does not want to leave the page.
  const onClick = open && (() => window.getSelection()?.isCollapsed !== false && open());
  const onKeyDown = (event: KeyboardEvent<HTMLTableRowElement>) => {
    if (event.target !== event.currentTarget) return;
    if (event.key === "Enter") open?.();
    if (event.key === "j") step(event.currentTarget, "nextElementSibling");
    if (event.key === "k") step(event.currentTarget, "previousElementSibling");
  };
  return (
    <tr
      {...has("row")}
      tabIndex={open ? 0 : undefined}
      className={open ? "link" : undefined}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      {columns.map(({ name, cell, is_amount, is_title }) => (
        <td
          key={name}
          {...has("cell")}
          data-label={name}
          className={[is_amount && "right", is_title && "title"].filter(Boolean).join(" ")}
        >
          {is_title && path !== null ? (
            // For a new tab; the row itself is reached by the keyboard.
            <Link href={path} tabIndex={-1} onClick={(event) => event.stopPropagation()}>
              {cell(row)}
            </Link>
          ) : (
            cell(row)
          )}
        </td>
      ))}
    </tr>
  );
}

function step(row: HTMLElement, way: "nextElementSibling" | "previousElementSibling"): void {
  (row[way] as HTMLElement | null)?.focus();
}

/** For a list that its filters leave empty. */
export function NothingMatches({ onClear }: { onClear: () => void }) {
  return (
    <Empty
      title="Nothing matches"
      action={
        <Button variant="default" onClick={onClear}>
          Clear the filters
        </Button>
      }
    >
      No record has all of these.
    </Empty>
  );
}
