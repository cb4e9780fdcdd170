import { SegmentedControl, Select, SimpleGrid, Text } from "@mantine/core";
import { CURRENCIES } from "../filter-names.ts";
import { CELL_NAMES, CELLS, type CellName } from "./columns.ts";
import { countRows } from "./count-rows.ts";
import type { PayoutFile } from "./read-file.ts";
import type { Choices } from "./to-rows.ts";

type MappingProps = {
  file: PayoutFile;
  choices: Choices;
  onChange: (choices: Choices) => void;
};

const ENCODINGS: Readonly<Record<string, string>> = {
  "windows-1252": "Its letters were read as Windows-1252: look at names with accents.",
};
const OPTIONS = (["Payout", "Payee", "Bank account"] as const).map((group) => ({
  group,
  items: CELL_NAMES.filter((name) => CELLS[name].group === group).map((name) => {
    return { value: name, label: CELLS[name].label };
  }),
}));

/** Which column is what, with values of the file beside it. */
export function ColumnMapping({ file, choices, onChange }: MappingProps) {
  const change = (at: number, name: CellName | null) => {
    const mapping = choices.mapping.map((before, other) => {
      if (other === at) return name;
      // A cell comes from one column.
      return before === name ? null : before;
    });
    onChange({ ...choices, mapping });
  };
  return (
    <section className="card batch-form" aria-label="Columns">
      <h2>Columns of {file.name}</h2>
      <Text size="sm" c="dimmed" mb="sm">
        {countRows(file.rows.length)}
        {file.skipped === 1 && ", 1 other line left out"}
        {file.skipped > 1 && `, ${file.skipped} other lines left out`}. {ENCODINGS[file.encoding]}
      </Text>
      <table className="records batch-columns" aria-label="Columns">
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">First values</th>
            <th scope="col">Is</th>
          </tr>
        </thead>
        <tbody>
          {file.headings.map((heading, at) => (
            <tr key={`${heading} ${at.toString()}`}>
              <td data-label="Column" className="title">
                {heading || <span className="none">Without a heading</span>}
              </td>
              <td data-label="First values" className="quiet">
                {samplesOf(file, at)}
              </td>
              <td data-label="Is">
                <Select
                  aria-label={`What ${heading || `column ${at + 1}`} is`}
                  placeholder="Not used"
                  data={OPTIONS}
                  searchable
                  clearable
                  value={choices.mapping[at] ?? null}
                  onChange={(name) => change(at, name as CellName | null)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Formats {...{ choices, onChange }} />
    </section>
  );
}

function samplesOf({ rows }: PayoutFile, at: number): string {
  const values = rows.map(({ cells }) => cells[at] ?? "").filter((value) => value !== "");
  return [...new Set(values)].slice(0, 3).join(" · ");
}

function Formats({ choices, onChange }: Omit<MappingProps, "file">) {
  const { mapping, format, dates, currency, beneficiary_type } = choices;
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} mt="md">
      <Choice
        label="Amounts are written"
        value={format}
        options={{ point: "1,234.50", comma: "1.234,50" }}
        onChange={(next) => onChange({ ...choices, format: next as Choices["format"] })}
      />
      {mapping.includes("date_of_birth") && (
        <Choice
          label="Dates are written"
          value={dates}
          options={{ day_first: "Day first", month_first: "Month first" }}
          onChange={(next) => onChange({ ...choices, dates: next as Choices["dates"] })}
        />
      )}
      {!mapping.includes("currency") && (
        <Select
          label="Currency of all rows"
          placeholder="Choose a currency"
          searchable
          data={CURRENCIES.map((value) => ({ value, label: value.toUpperCase() }))}
          value={currency || null}
          onChange={(next) => onChange({ ...choices, currency: next ?? "" })}
        />
      )}
      {!mapping.includes("beneficiary_type") && (
        <Choice
          label="All new payees are"
          value={beneficiary_type || null}
          options={{ individual: "People", business: "Businesses" }}
          onChange={(next) => onChange({ ...choices, beneficiary_type: next })}
        />
      )}
    </SimpleGrid>
  );
}

function Choice(props: {
  label: string;
  value: string | null;
  options: Record<string, string>;
  onChange: (value: string) => void;
}) {
  const { label, value, options, onChange } = props;
  const data = Object.entries(options).map(([name, text]) => ({ value: name, label: text }));
  return (
    <div>
      <Text size="sm" fw={500} mb={4}>
        {label}
      </Text>
      <SegmentedControl
        aria-label={label}
        data={data}
        value={value ?? ""}
        onChange={onChange}
        fullWidth
      />
    </div>
  );
}
