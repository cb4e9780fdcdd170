import type { ReactNode } from "react";
import { Copy } from "./record-id.tsx";

/** A line of a list of facts. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A text that people take elsewhere: shown whole or shortened, and copied whole. */
export function Copied(props: { text: string; label: string; is_code?: boolean; short?: string }) {
  const { text, label, is_code, short } = props;
  return (
    <span className="copied">
      {is_code ? <code className="address">{short ?? text}</code> : <span>{short ?? text}</span>}
      <Copy text={text} label={`Copy ${label}`} />
    </span>
  );
}
