import type { Names } from "../names.ts";

/** Who is paid, and to which account; a payee may have been erased. */
export function Payee({ row }: { row: { payment_detail_id: string; names: Names } }) {
  const detail = row.names.payment_details[row.payment_detail_id];
  if (!detail) return <span className="none">Erased</span>;
  return (
    <div>
      <div className="strong">{detail.holder}</div>
      <div className="quiet">
        {detail.bank} ··{detail.account}
      </div>
    </div>
  );
}
