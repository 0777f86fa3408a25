export default function Page() {
  return <h1>the application</h1>;
}
