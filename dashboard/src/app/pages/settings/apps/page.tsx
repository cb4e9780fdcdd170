import { useParams } from "wouter";
import { AppDetail } from "./detail.tsx";
import { AppList } from "./list.tsx";

export default function AppsPage() {
  const { id } = useParams<{ id?: string }>();
  return id ? <AppDetail id={id} /> : <AppList />;
}
