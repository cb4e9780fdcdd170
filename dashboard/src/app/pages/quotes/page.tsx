import { useParams } from "wouter";
import { QuoteDetail } from "./detail.tsx";
import { QuoteList } from "./list.tsx";

export default function QuotesPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <QuoteDetail id={id} /> : <QuoteList />;
}
