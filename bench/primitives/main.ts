// Measures the primitives on a database that it may change, and prints them as JSON.
//
//     node main.ts DATABASE RUNS SECONDS
import { measureSignatures } from './signatures.ts';
import { measureStatements } from './statements.ts';

const [path = '', runs = '', seconds = ''] = process.argv.slice(2);
const effort = { runs: Number(runs), seconds: Number(seconds) };
const statements = await measureStatements(path, effort);
console.log(JSON.stringify({ ...(await measureSignatures(effort)), ...statements }));
