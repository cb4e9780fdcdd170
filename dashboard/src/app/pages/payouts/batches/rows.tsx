import { Button, Center, Checkbox, SegmentedControl, TextInput } from "@mantine/core";
import { type KeyboardEvent, useState } from "react";
import { Icon } from "../../../parts/icons.tsx";
import type { BatchRow, CellProblem, Draft, RowChange } from "./batch.ts";
import { CELL_NAMES, CELLS, type CellName } from "./columns.ts";

const ROWS_SHOWN = 50;

type Change = (change: RowChange) => void;
type Filter = "wrong" | "all" | "excluded";

/** The rows as a table; what is wrong can be written over at once. */
export function BatchRows({ draft, onChange }: { draft: Draft; onChange: Change }) {
  const hasWrong = draft.rows.some(isWrong);
  const [filter, setFilter] = useState<Filter>(hasWrong ? "wrong" : "all");
  const [count, setCount] = useState(ROWS_SHOWN);
  const rows = draft.rows.filter((row) => isShown(row, filter));
  const columns = columnsOf(draft.rows);
  return (
    <>
      <SegmentedControl
        aria-label="Rows"
        className="batch-filter"
        value={filter}
        onChange={(next) => {
          setFilter(next as Filter);
          setCount(ROWS_SHOWN);
        }}
        data={[
          { value: "wrong", label: "To look at" },
          { value: "all", label: "All" },
          { value: "excluded", label: "Excluded" },
        ]}
      />
      {rows.length === 0 && <p className="quiet">No such rows.</p>}
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard as well.
        <section className="batch-scroll" aria-label="Rows of the file" tabIndex={0}>
          <table className="records batch-rows">
            <thead>
              <tr>
                <th scope="col">Row</th>
                <th scope="col">Actions</th>
                {columns.map((name) => (
                  <th key={name} scope="col" className={name === "amount" ? "right" : undefined}>
                    {CELLS[name].label}
                  </th>
                ))}
                <th scope="col">Payee</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, count).map((row) => (
                <Row key={row.n} {...{ row, columns, onChange }} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {rows.length > count && (
        <Center>
          <Button variant="default" onClick={() => setCount(count + ROWS_SHOWN)}>
            Show more of {rows.length}
          </Button>
        </Center>
      )}
    </>
  );
}

function isWrong(row: BatchRow): boolean {
  return !row.is_excluded && row.problems.length > 0;
}

function isShown(row: BatchRow, filter: Filter): boolean {
  if (filter === "all") return true;
  return filter === "excluded" ? row.is_excluded : isWrong(row);
}

/** Those of the file, and those that lack something. */
function columnsOf(rows: readonly BatchRow[]): CellName[] {
  const used = new Set<CellName>(["amount", "currency", "account_name"]);
  for (const { cells, problems } of rows) {
    for (const name of Object.keys(cells)) used.add(name as CellName);
    for (const { cell } of problems) used.add(cell);
  }
  // What has to be corrected is seen without scrolling.
  const wrong = new Set(rows.filter(isWrong).flatMap(({ problems }) => problems.map(cellOf)));
  const rank = (name: CellName) => (name === "account_name" ? 0 : wrong.has(name) ? 1 : 2);
  return CELL_NAMES.filter((name) => used.has(name)).sort((a, b) => rank(a) - rank(b));
}

function cellOf({ cell }: CellProblem): CellName {
  return cell;
}

type RowProps = { row: BatchRow; columns: readonly CellName[]; onChange: Change };

function Row({ row, columns, onChange }: RowProps) {
  const [isOpen, setOpen] = useState(false);
  const { n } = row;
  const isDuplicate = row.problems.some(({ severity }) => severity === "duplicate");
  return (
    <tr className={row.is_excluded ? "excluded" : undefined}>
      <th scope="row">
        <span className="batch-row-word">Row </span>
        {n}
      </th>
      <td className="batch-acts" data-label="Actions">
        {isDuplicate && !row.is_excluded && (
          <Checkbox
            size="xs"
            label="Pay it nevertheless"
            aria-label={`Pay row ${n} nevertheless`}
            checked={row.is_acknowledged}
            onChange={(event) => onChange({ n, is_acknowledged: event.currentTarget.checked })}
          />
        )}
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`${row.is_excluded ? "Include" : "Exclude"} row ${n}`}
          onClick={() => onChange({ n, is_excluded: !row.is_excluded })}
        >
          {row.is_excluded ? "Include" : "Exclude"}
        </Button>
        {!row.is_excluded && (
          <Button
            size="compact-xs"
            variant="default"
            aria-label={`${isOpen ? "Close" : "Edit"} row ${n}`}
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? "Close" : "Edit"}
          </Button>
        )}
      </td>
      {columns.map((name) => (
        <Cell
          key={`${name} ${row.cells[name] ?? ""}`}
          {...{ row, name, onChange }}
          isOpen={isOpen && !row.is_excluded}
        />
      ))}
      <td data-label="Payee">
        {row.payee === "known" ? "Known" : row.payee === "new" ? "New" : "–"}
      </td>
    </tr>
  );
}

type CellProps = { row: BatchRow; name: CellName; isOpen: boolean; onChange: Change };

function Cell({ row, name, isOpen, onChange }: CellProps) {
  const text = row.cells[name] ?? "";
  const problems = row.is_excluded ? [] : row.problems.filter(({ cell }) => cell === name);
  const errors = problems.filter(({ severity }) => severity === "error");
  const isInput = isOpen || errors.length > 0;
  return (
    <td data-label={CELLS[name].label} className={name === "amount" ? "right" : undefined}>
      {isInput ? <CellInput {...{ row, name, text, errors, onChange }} /> : <span>{text}</span>}
      {problems
        .filter(({ severity }) => severity !== "error")
        .map(({ code, message }) => (
          <div key={code} className="batch-note">
            <Icon name="needs" size={14} /> {message}
          </div>
        ))}
    </td>
  );
}

type InputProps = {
  row: BatchRow;
  name: CellName;
  text: string;
  errors: readonly CellProblem[];
  onChange: Change;
};

/** Sent when the person leaves it or presses Enter; Escape takes back what was written. */
function CellInput({ row, name, text, errors, onChange }: InputProps) {
  const [value, setValue] = useState(text);
  const send = () => {
    if (value.trim() !== text) onChange({ n: row.n, cells: { [name]: value } });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter") event.currentTarget.blur();
    if (event.key === "Escape") setValue(text);
  };
  return (
    <TextInput
      size="xs"
      aria-label={`${CELLS[name].label} of row ${row.n}`}
      value={value}
      error={errors.map(({ message }) => message).join(" ") || undefined}
      onChange={(event) => setValue(event.currentTarget.value)}
      onBlur={send}
      onKeyDown={onKeyDown}
    />
  );
}
