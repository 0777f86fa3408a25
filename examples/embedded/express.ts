import express from 'express';
import { grantd, port } from './grantd.ts';

const app = express();
app.use(grantd.handle); // before body parsers
app.get('/', (_, response) => void response.send('the application'));
app.listen(port, '127.0.0.1');
