import { useParams } from "wouter";
import { DocumentDetail } from "./detail.tsx";
import { DocumentList } from "./list.tsx";

export default function DocumentsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <DocumentDetail id={id} /> : <DocumentList />;
}
