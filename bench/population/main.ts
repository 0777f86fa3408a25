// Creates the population for an order in JSON, if it is missing, and prints its location as JSON. A separate program,
// so that another version of grantd can fill its own database.
//
//     node bench/population/main.ts '{"records":1000000,"tokens":{"jwt_rs256":100000}}'
import { showProgress } from '../../reliability/script.ts';
import type { PopulationOrder } from './order.ts';
import { population } from './population.ts';

const [, , text] = process.argv;
if (text === undefined) throw new Error('expected an order as JSON');
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));
const order = JSON.parse(text) as PopulationOrder;
const made = await population(order, showProgress);
showProgress('');
console.log(JSON.stringify(made));
