import { useParams } from "wouter";
import { InvoiceDetail } from "./detail.tsx";
import { InvoiceList } from "./list.tsx";
import { NewInvoice } from "./new-invoice.tsx";

export default function InvoicesPage() {
  const { id } = useParams<{ id?: string }>();
  if (id === "new") return <NewInvoice />;
  return id ? <InvoiceDetail id={id} /> : <InvoiceList />;
}
