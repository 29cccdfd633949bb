-- Read once, when the database is made: search by meaning needs the extension.
create extension if not exists vector;
