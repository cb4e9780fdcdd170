import { monthNames, texts } from "../texts.ts";

/**
 * A birth date in three parts. A calendar makes people page back through decades, and a month
 * written as a word cannot be confused with a day.
 */
export function DateInput(props: {
  id: string;
  value: string;
  problem: string | null;
  onChange: (value: string) => void;
  onLeave: () => void;
}) {
  const { id, value, problem, onChange, onLeave } = props;
  const [year = "", month = "", day = ""] = value.split("-");
  const invalid = problem ? true : undefined;
  const change = (parts: { year?: string; month?: string; day?: string }) => {
    const next = { year, month, day, ...parts };
    const is_empty = !next.year && !next.month && !next.day;
    onChange(is_empty ? "" : `${next.year}-${next.month}-${next.day}`);
  };
  const leave = () => {
    // "7" means "07".
    if (/^[1-9]$/.test(day)) change({ day: `0${day}` });
    onLeave();
  };
  return (
    <div className="date-parts">
      <div>
        <label htmlFor={id}>{texts.date.day}</label>
        <input
          id={id}
          inputMode="numeric"
          autoComplete="off"
          maxLength={2}
          aria-invalid={invalid}
          value={day}
          onChange={(event) => change({ day: digits(event.target.value) })}
          onBlur={leave}
        />
      </div>
      <div className="date-month">
        <label htmlFor={`${id}-month`}>{texts.date.month}</label>
        <select
          id={`${id}-month`}
          aria-invalid={invalid}
          value={month}
          onChange={(event) => change({ month: event.target.value })}
          onBlur={leave}
        >
          <option value="">{texts.date.no_month}</option>
          {monthNames().map((name, at) => (
            <option key={name} value={`${at + 1}`.padStart(2, "0")}>
              {name}
            </option>
          ))}
        </select>
      </div>
      <div className="date-year">
        <label htmlFor={`${id}-year`}>{texts.date.year}</label>
        <input
          id={`${id}-year`}
          inputMode="numeric"
          autoComplete="off"
          maxLength={4}
          aria-invalid={invalid}
          value={year}
          onChange={(event) => change({ year: digits(event.target.value) })}
          onBlur={leave}
        />
      </div>
    </div>
  );
}

/** The date as sent: pads "1988-04-7", which can be complete before its field was left. */
export function wholeDate(value: string): string {
  const [year = "", month = "", day = ""] = value.split("-");
  const whole_day = day === "" ? "" : day.padStart(2, "0");
  return value === "" ? "" : `${year}-${month}-${whole_day}`;
}

function digits(text: string): string {
  return text.replace(/\D/g, "");
}
