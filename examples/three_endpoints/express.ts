import { mount } from '@grantd/core/express';
import express from 'express';
import { server } from './sqlite.ts';

const app = express();
app.use(mount(server));
app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
