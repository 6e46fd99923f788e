"""`compare`: did a change such as an export, a quantization or a retraining make the network worse?"""
